/**
 * The part of `plant-store/client` for receivers of webhooks in Node, browsers, Deno and Bun. It uses only WebCrypto
 * and imports nothing, so that it can be copied anywhere.
 */

/** A request's headers: fetch's `Headers`, or the plain object of `node:http` with names in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined };

/** The payload of the webhook "New Plant". */
export type NewPlant = {
  /** A 64-bit integer: bigint beyond `Number.MAX_SAFE_INTEGER`, in either direction. */
  id: number | bigint;
  name: string;
  tag?: string;
};

export type VerifyOptions = {
  /** How far the request's timestamp may be from now, in either direction. By default 300. */
  toleranceSeconds?: number;
  /** The current time, for tests. */
  now?: Date;
};

export type VerifiedWebhook<Payload> = {
  /** The event's id, the same on every attempt: the key to deduplicate by. */
  id: string;
  /** When this attempt was made, to the second. */
  timestamp: Date;
  payload: Payload;
};

export type WebhookRefusal =
  | 'missing-header'
  | 'repeated-header'
  | 'bad-id'
  | 'bad-timestamp'
  | 'too-old'
  | 'too-new'
  | 'no-matching-signature'
  | 'not-json';

/** A request that is not genuine or too old: answer 401. The message contains nothing of the key or the body. */
export class WebhookVerificationError extends Error {
  readonly reason: WebhookRefusal;

  constructor(reason: WebhookRefusal, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WebhookVerificationError';
    this.reason = reason;
  }
}

/**
 * Verifies a request by Standard Webhooks 1.0 and parses its body. Integers beyond `Number.MAX_SAFE_INTEGER` become
 * bigint, exact to the last digit; all other numbers are numbers. `Payload` is the type that the sender documents; its
 * shape is not checked.
 * @param rawBody the body exactly as received, not parsed and serialised again
 * @param secretOrPublicKey `whsec_…` verifies `v1` (HMAC-SHA256), `whpk_…` verifies `v1a` (ed25519)
 * @throws WebhookVerificationError when you must refuse the request
 * @throws TypeError for an invalid key, body or tolerance, whatever the request: a mistake of the program. A runtime
 * whose WebCrypto has no Ed25519 rejects a public key with its own error.
 * @throws RangeError for an integer that would lose digits, where `JSON.parse` does not give its reviver the source
 * text (as in Node 20)
 */
export async function verifyWebhook<Payload = NewPlant>(
  headers: WebhookHeaders,
  rawBody: string | Uint8Array,
  secretOrPublicKey: string,
  { toleranceSeconds = 300, now = new Date() }: VerifyOptions = {},
): Promise<VerifiedWebhook<Payload>> {
  const verifier = readKey(secretOrPublicKey);
  const body = readBody(rawBody);
  if (!(toleranceSeconds >= 0)) throw new TypeError('toleranceSeconds must be a number of at least 0.');

  const id = headerOf(headers, 'webhook-id');
  const seconds = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  // With a full stop, the same signed content could be split into another id, time and body.
  if (id.includes('.')) throw new WebhookVerificationError('bad-id', 'webhook-id contains a full stop.');
  const timestamp = readTime(seconds, toleranceSeconds, now);
  const start = new TextEncoder().encode(`${id}.${seconds}.`);
  const content = new Uint8Array(start.length + body.length);
  content.set(start);
  content.set(body, start.length);
  await verify(signatures, content, verifier);
  // Parse the verified copy: the caller may have changed theirs meanwhile. As for the type: the signature proves who
  // wrote the body, and the caller declares what that sender writes.
  return { id, timestamp, payload: parse(content.subarray(start.length)) as Payload };
}

type Bytes = Uint8Array<ArrayBuffer>;
type Scheme = (typeof schemes)[number];
type Verifier = { scheme: Scheme; key: Bytes };

const schemes = [
  {
    version: 'v1',
    prefix: 'whsec_',
    keyBytes: { min: 24, max: 64 },
    signatureBytes: 32,
    algorithm: { name: 'HMAC', hash: 'SHA-256' },
  },
  {
    version: 'v1a',
    prefix: 'whpk_',
    keyBytes: { min: 32, max: 32 },
    signatureBytes: 64,
    algorithm: { name: 'Ed25519' },
  },
] as const;

/** The most signatures to check: each costs a pass over the body, and the sender chooses their number. */
const MOST_SIGNATURES = 16;

function readKey(text: unknown): Verifier {
  for (const scheme of schemes) {
    const { prefix, keyBytes } = scheme;
    if (typeof text !== 'string' || !text.startsWith(prefix)) continue;
    const key = decode(text.slice(prefix.length));
    if (key && key.length >= keyBytes.min && key.length <= keyBytes.max) return { scheme, key };
  }
  throw new TypeError(
    'The key is neither a secret (whsec_ and base64 of 24 to 64 bytes) nor a public key ' +
      '(whpk_ and base64 of 32 bytes).',
  );
}

function readBody(body: unknown): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  // Not `instanceof`: test runners and frames pass a Uint8Array from another realm.
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  throw new TypeError('rawBody must be the body as received: a string or a Uint8Array, not parsed.');
}

/** The single value of a header. If a proxy added another, nobody knows which one counts. */
function headerOf(headers: WebhookHeaders, name: string): string {
  const values = isFetchHeaders(headers)
    ? [headers.get(name)]
    : Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? value : []));
  const [value, ...others] = values;
  if (others.length > 0) throw new WebhookVerificationError('repeated-header', `${name} is repeated.`);
  if (!value) throw new WebhookVerificationError('missing-header', `${name} is missing.`);
  return value;
}

function isFetchHeaders(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}

function readTime(text: string, toleranceSeconds: number, now: Date): Date {
  // No more digits than a Date can hold.
  if (!/^\d{1,12}$/.test(text)) {
    throw new WebhookVerificationError('bad-timestamp', 'webhook-timestamp is not a number of unix seconds.');
  }
  const age = Math.floor(now.getTime() / 1000) - Number(text);
  // Written so that NaN is refused as well.
  if (Math.abs(age) <= toleranceSeconds) return new Date(Number(text) * 1000);
  const where = age > 0 ? 'ago' : 'ahead';
  throw new WebhookVerificationError(
    age > 0 ? 'too-old' : 'too-new',
    `webhook-timestamp is ${Math.abs(age)} seconds ${where}, ${toleranceSeconds} are allowed. Is this clock right?`,
  );
}

/** Throws unless one of the signatures is genuine. WebCrypto compares in constant time. */
async function verify(signatures: string, content: Bytes, { scheme, key: raw }: Verifier): Promise<void> {
  const { version, algorithm, signatureBytes } = scheme;
  const given = signatures.split(' ').filter((signature) => signature.startsWith(`${version},`));
  const key = await crypto.subtle.importKey('raw', raw, algorithm, false, ['verify']);
  for (const text of given.slice(0, MOST_SIGNATURES)) {
    const signature = decode(text.slice(version.length + 1));
    if (signature?.length !== signatureBytes) continue;
    if (await crypto.subtle.verify(algorithm, key, signature, content)) return;
  }
  throw new WebhookVerificationError(
    'no-matching-signature',
    `No signature of version ${version}, which this key is for, matches: it was made with another key, the request was changed, ` +
      'or the body given here is not the one that arrived.',
  );
}

/** Undefined unless the text is canonical base64: one spelling for each value, without white space. */
function decode(text: string): Bytes | undefined {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return undefined;
  }
  return btoa(binary) === text ? Uint8Array.from(binary, (char) => char.charCodeAt(0)) : undefined;
}

function parse(body: Bytes): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body), exactInteger);
  } catch (cause) {
    if (cause instanceof RangeError) throw cause;
    throw new WebhookVerificationError('not-json', 'The body is genuine, but it is not JSON.', { cause });
  }
}

/** For `JSON.parse`: a large integer as a bigint. */
export function exactInteger(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value;
  if (context?.source === undefined) {
    throw new RangeError('This runtime cannot read an id beyond 2^53 exactly; Node 21 and newer can.');
  }
  return /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
}
