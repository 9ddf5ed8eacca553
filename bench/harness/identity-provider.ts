import { once } from 'node:events';
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { scopes } from '../../src/access/scopes.ts';

/** A minimal identity provider in this process: a key set with one key, and JWTs. */
export type IdentityProvider = {
  /** For the service's environment. */
  settings: Record<string, string>;
  /** A JWT of the user with every scope, valid for an hour; no two are the same. */
  issue(user: string): Promise<string>;
  stop(): Promise<void>;
};

const AUDIENCE = 'plant-store-bench';
const ALGORITHM = 'ES256';
const KEY_ID = 'bench';

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM);
  const key = { ...(await exportJWK(publicKey)), kid: KEY_ID, alg: ALGORITHM, use: 'sig' };
  const keySet = JSON.stringify({ keys: [key] });
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(keySet);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The identity provider has no port');
  const issuer = `http://127.0.0.1:${address.port}`;
  let issued = 0;

  return {
    settings: { JWT_ISSUER: issuer, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: `${issuer}/keys` },
    issue: (user) =>
      new SignJWT({ scope: scopes.join(' ') })
        .setProtectedHeader({ alg: ALGORITHM, kid: KEY_ID })
        .setIssuer(issuer)
        .setAudience(AUDIENCE)
        .setSubject(user)
        .setIssuedAt()
        .setExpirationTime('1h')
        .setJti(String(++issued))
        .sign(privateKey),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
