import { createHmac, createPrivateKey, createPublicKey, sign as ed25519, type KeyObject } from 'node:crypto';
import { delivery } from '../../limits.ts';
import type { SigningKeys } from '../port.ts';

type SignedContent = {
  /** The `webhook-id` header. */
  id: string;
  /** The `webhook-timestamp` header: unix seconds. */
  timestamp: number;
  body: string;
  keys: SigningKeys;
};

const SECRET = { prefix: 'whsec_', bytes: { min: 24, max: 64 } };
const PRIVATE_KEY = { prefix: 'whsk_', bytes: { min: 64, max: 64 } };
const PUBLIC_KEY = { prefix: 'whpk_' };

/**
 * The `webhook-signature` header of Standard Webhooks 1.0: `v1,` HMAC-SHA256 for each live secret, newest first, then
 * `v1a,` ed25519. Throws when a key cannot be read; the message contains nothing of the key.
 */
export function sign({ id, timestamp, body, keys }: SignedContent): string {
  const content = Buffer.from(`${id}.${timestamp}.${body}`);
  const signatures = keys.secrets.map((secret) => {
    const hmac = createHmac('sha256', decode(secret, SECRET)).update(content);
    return `v1,${hmac.digest('base64')}`;
  });
  signatures.push(`v1a,${ed25519(null, content, importedKey(keys.privateKey)).toString('base64')}`);
  return signatures.join(' ');
}

/** A symmetric key of 256 bits: `whsec_` and base64. */
export function newSecret(random: (size: number) => Buffer): string {
  return SECRET.prefix + random(32).toString('base64');
}

/** An ed25519 pair: `whsk_` and base64 of seed and public key, `whpk_` and base64 of the public key. */
export function newKeyPair(random: (size: number) => Buffer): { privateKey: string; publicKey: string } {
  const seed = random(32);
  const point = createPublicKey(privateKeyOf(seed)).export({ format: 'raw-public' });
  return {
    privateKey: PRIVATE_KEY.prefix + Buffer.concat([seed, point]).toString('base64'),
    publicKey: PUBLIC_KEY.prefix + point.toString('base64'),
  };
}

/** Unlike a key in DER, raw bytes are not refused for an error that other code left in OpenSSL's queue (decision 49). */
function privateKeyOf(seed: Buffer): KeyObject {
  return createPrivateKey({ key: seed, format: 'raw-private', asymmetricKeyType: 'ed25519' });
}

// Importing an ed25519 key takes two thirds of the time of signing with it (measured), so the keys of active webhooks
// stay imported. This caches a pure function.
let recent = new Map<string, KeyObject>();
let older = recent;

function importedKey(text: string): KeyObject {
  const known = recent.get(text);
  if (known !== undefined) return known;
  const key = older.get(text) ?? privateKeyOf(decode(text, PRIVATE_KEY).subarray(0, 32));
  if (recent.size >= delivery.importedKeys / 2) {
    // Drops the keys not used since the last swap.
    older = recent;
    recent = new Map();
  }
  recent.set(text, key);
  return key;
}

function decode(text: string, { prefix, bytes }: typeof SECRET): Buffer {
  const key = Buffer.from(text.slice(prefix.length), 'base64');
  if (!text.startsWith(prefix) || key.length < bytes.min || key.length > bytes.max) {
    throw new Error(`A signing key is not ${prefix} and base64 of ${bytes.min} to ${bytes.max} bytes.`);
  }
  return key;
}
