import { generateKeyPairSync, sign } from 'node:crypto';

/**
 * A self-signed certificate for one name, generated, so that the repository contains no key.
 *
 * @param until its expiry, as `YYYYMMDD`
 */
export function selfSigned(name: string, until = '20991231'): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(0x30, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
  const subject = der(
    0x30,
    der(0x31, der(0x30, der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(name)))),
  );
  const validity = der(0x30, time('20200101000000Z'), time(`${until}235959Z`));
  const names = der(0x30, der(0x82, Buffer.from(name)));
  const alternative = der(0x30, der(0x06, Buffer.from('551d11', 'hex')), der(0x04, names));
  const content = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    subject,
    validity,
    subject,
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, der(0x30, alternative)),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', content, privateKey)]));
  const base64 = der(0x30, content, algorithm, signature).toString('base64');
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
  };
}

/** One ASN.1 element in distinguished encoding (X.690). */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function time(text: string): Buffer {
  return der(0x18, Buffer.from(text));
}
