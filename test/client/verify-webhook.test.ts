import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  type NewPlant,
  type VerifyOptions,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookRefusal,
  WebhookVerificationError,
} from 'plant-store/client';
import { newSecret } from '../../src/webhooks/sending/signature.ts';
import vectors from '../../testkit/receivers/standard-webhooks.json' with { type: 'json' };

const { id, timestamp, body, symmetric, asymmetric } = vectors;
const now = new Date(timestamp * 1000);
const both = `${symmetric.signature} ${asymmetric.signature}`;

type Changes = {
  id?: string;
  timestamp?: string;
  signature?: string;
  headers?: WebhookHeaders;
  body?: string | Uint8Array;
  key?: string;
  options?: VerifyOptions;
};

/** Verifies the vector's request with changes, at its own time. */
function verifyVector(changes: Changes = {}) {
  const headers = changes.headers ?? {
    'webhook-id': changes.id ?? id,
    'webhook-timestamp': changes.timestamp ?? String(timestamp),
    'webhook-signature': changes.signature ?? both,
  };
  const { body: given = body, key = symmetric.secret, options = { now } } = changes;
  return verifyWebhook<Record<string, unknown>>(headers, given, key, options);
}

async function refused(reason: WebhookRefusal, changes: Changes): Promise<void> {
  await assert.rejects(verifyVector(changes), (error) => {
    assert.ok(error instanceof WebhookVerificationError, `${error}`);
    assert.equal(error.reason, reason, error.message);
    assert.equal(error.name, 'WebhookVerificationError');
    assert.doesNotMatch(error.message, /whsec_|whpk_|g0hM9SsE|2432232314/);
    return true;
  });
}

test('the vectors of Standard Webhooks are genuine under their secret and their public key', async () => {
  for (const [key, own] of [
    [symmetric.secret, symmetric.signature],
    [asymmetric.publicKey, asymmetric.signature],
  ] as const) {
    for (const signature of [own, both]) {
      const verified = await verifyVector({ key, signature });
      assert.deepEqual(verified, { id, timestamp: now, payload: { test: 2432232314 } });
    }
  }
});

test('headers may come from fetch or node:http, and the body may be text or bytes', async () => {
  const plain = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': both };
  const upper = Object.fromEntries(Object.entries(plain).map(([name, value]) => [name.toUpperCase(), value]));
  const distinct = Object.fromEntries(Object.entries(plain).map(([name, value]) => [name, [value]]));
  const others = { ...plain, host: 'a.example', 'x-absent': undefined };
  for (const headers of [plain, upper, distinct, others, new Headers(plain)]) {
    assert.equal((await verifyVector({ headers })).id, id);
  }
  const bytes = Buffer.from(body);
  const within = new Uint8Array([1, 2, ...bytes, 3]).subarray(2, 2 + bytes.length);
  for (const given of [bytes, new Uint8Array(bytes), within]) {
    assert.deepEqual((await verifyVector({ body: given })).payload, { test: 2432232314 });
  }
});

test('a request is genuine from 300 seconds before its timestamp to 300 seconds after it', async () => {
  const at = (seconds: number) => ({ options: { now: new Date(timestamp * 1000 + seconds * 1000) } });
  for (const seconds of [-300, -299.5, 0, 300, 300.9]) await verifyVector(at(seconds));
  await refused('too-old', at(301));
  await refused('too-new', at(-301));
  await refused('too-old', { options: {} });
});

test('the tolerance can be set, and an invalid one is a TypeError', async () => {
  const at = (seconds: number, toleranceSeconds: number) => ({
    options: { now: new Date((timestamp + seconds) * 1000), toleranceSeconds },
  });
  await verifyVector(at(10, 10));
  await verifyVector(at(0, 0));
  await verifyVector(at(1e9, Infinity));
  await refused('too-old', at(11, 10));
  await refused('too-new', at(-1, 0));
  for (const wrong of [Number.NaN, -1]) await assert.rejects(verifyVector(at(0, wrong)), TypeError);
  await refused('too-new', { options: { now: new Date(Number.NaN) } });
});

test('one matching signature is enough, among any others, in any order', async () => {
  const other = `v1,${randomBytes(32).toString('base64')}`;
  for (const signature of [
    `${other} ${symmetric.signature}`,
    `${symmetric.signature} ${other}`,
    `v2,abc v1 v0,x ${asymmetric.signature}  ${other} ${symmetric.signature} `,
    `${`${other} `.repeat(15)}${symmetric.signature}`,
  ]) {
    await verifyVector({ signature });
  }
  await refused('no-matching-signature', { signature: `${other} ${other}` });
});

test('only 16 signatures are checked, so that a request cannot cause much work', () =>
  refused('no-matching-signature', { signature: `${'v1,AAAA '.repeat(16)}${symmetric.signature}` }));

test('a changed body, id or timestamp is refused under either key', async () => {
  for (const key of [symmetric.secret, asymmetric.publicKey]) {
    await refused('no-matching-signature', { key, body: body.replace('2', '3') });
    await refused('no-matching-signature', { key, body: `${body} ` });
    await refused('no-matching-signature', { key, body: JSON.stringify(JSON.parse(body)) });
    await refused('no-matching-signature', { key, body: '' });
    await refused('no-matching-signature', { key, id: `${id}x` });
    await refused('no-matching-signature', { key, timestamp: String(timestamp + 1) });
    await refused('no-matching-signature', { key, timestamp: `0${timestamp}` });
  }
});

test('parts of a genuine content are not mixed up when its id contains a full stop', async () => {
  await refused('bad-id', { id: `${id}.${timestamp}` });
  await refused('bad-id', { id: '.' });
});

test('another key is refused, as is a signature of the other version', async () => {
  await refused('no-matching-signature', { key: newSecret(randomBytes) });
  await refused('no-matching-signature', { key: `whpk_${randomBytes(32).toString('base64')}` });
  await refused('no-matching-signature', { signature: asymmetric.signature });
  await refused('no-matching-signature', { signature: symmetric.signature, key: asymmetric.publicKey });
  const crossed = asymmetric.signature.replace('v1a,', 'v1,');
  await refused('no-matching-signature', { signature: crossed });
});

test('a signature of another length or spelling is refused', async () => {
  const bytes = symmetric.signature.slice('v1,'.length);
  const spellings = [
    '',
    '=',
    'not base64!',
    bytes.slice(0, -1),
    bytes.slice(0, -4),
    `${bytes}AAAA`,
    `${bytes},`,
    `${bytes},${bytes}`,
    `\t${bytes}`,
    Buffer.from(bytes, 'base64').toString('base64url'),
    Buffer.from(bytes, 'base64').toString('hex'),
    // The same bytes: two bits of the last character do not count.
    bytes.replace('E=', 'F='),
    'é'.repeat(22),
  ];
  for (const spelling of spellings) await refused('no-matching-signature', { signature: `v1,${spelling}` });
  for (const signature of [bytes, `V1,${bytes}`, `v1${bytes}`, `v1=${bytes}`]) {
    await refused('no-matching-signature', { signature });
  }
  const long = `v1a,${randomBytes(65).toString('base64')} v1a,${randomBytes(63).toString('base64')}`;
  await refused('no-matching-signature', { signature: long, key: asymmetric.publicKey });
});

test('a missing, empty or repeated header is named', async () => {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': both };
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const) {
    const { [name]: value, ...others } = headers;
    for (const absent of [
      others,
      { ...others, [name]: '' },
      { ...others, [name]: [] },
      new Headers(others),
    ]) {
      await refused('missing-header', { headers: absent });
      await assert.rejects(verifyVector({ headers: absent }), { message: `${name} is missing.` });
    }
    for (const twice of [
      { ...others, [name]: [value, value] },
      { ...headers, [name.toUpperCase()]: value },
    ]) {
      await refused('repeated-header', { headers: twice });
    }
  }
  // Joined by a comma, they form another id, or no valid time.
  const comma = (name: string, value: string) => ({ headers: { ...headers, [name]: `${value}, ${value}` } });
  await refused('no-matching-signature', comma('webhook-id', id));
  await refused('bad-timestamp', comma('webhook-timestamp', String(timestamp)));
  await refused('missing-header', { headers: {} });
});

test('a timestamp that is not unix seconds is refused', async () => {
  const wrong = ['now', '-1', '1e9', ' 1', `${timestamp}.0`, `+${timestamp}`, '0x10', 'NaN', '1'.repeat(13)];
  for (const text of wrong) await refused('bad-timestamp', { timestamp: text });
});

test('an invalid key is a programming error, whatever the request, and is not shown', async () => {
  const short = randomBytes(23).toString('base64');
  const keys = [
    '',
    'whsec_',
    symmetric.secret.slice('whsec_'.length),
    `whsec_${short}`,
    `whsec_${randomBytes(65).toString('base64')}`,
    `${symmetric.secret}\n`,
    `${symmetric.secret}=`,
    `whsec_${'-_'.repeat(16)}`,
    asymmetric.privateKey,
    `whpk_${short}`,
    asymmetric.publicKey.slice(0, -1),
    asymmetric.publicKey.replace('whpk_', 'whsk_'),
    // JavaScript's value of a missing setting.
    undefined as unknown as string,
  ];
  for (const key of keys) {
    for (const headers of [{}, { 'webhook-id': id }]) {
      await assert.rejects(verifyWebhook(headers, body, key, { now }), (error: Error) => {
        assert.equal(error.constructor, TypeError);
        assert.match(error.message, /^The key is neither a secret \(whsec_/);
        return !error.message.includes(short);
      });
    }
  }
});

test('a secret of 24 to 64 bytes is accepted', async () => {
  for (const size of [24, 64]) {
    await refused('no-matching-signature', { key: `whsec_${randomBytes(size).toString('base64')}` });
  }
});

test('a parsed body, or an ArrayBuffer, is a programming error', async () => {
  for (const parsed of [JSON.parse(body), undefined, null, [1], new ArrayBuffer(2)]) {
    await assert.rejects(verifyWebhook({}, parsed, symmetric.secret), (error: Error) => {
      assert.equal(error.constructor, TypeError);
      return error.message === 'rawBody must be the body as received: a string or a Uint8Array, not parsed.';
    });
  }
});

test('a body changed during verification is parsed as it was verified', async () => {
  const bytes = Buffer.from(body);
  const verified = verifyVector({ body: bytes });
  bytes.fill('9', 9, 19);
  assert.deepEqual((await verified).payload, { test: 2432232314 });
});

test('the payload is typed as a new plant unless its receiver says otherwise', async () => {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': both };
  const { payload } = await verifyWebhook(headers, body, symmetric.secret, { now });
  payload satisfies NewPlant;
  const own = await verifyWebhook<{ test: number }>(headers, body, symmetric.secret, { now });
  assert.equal(own.payload.test.toFixed(0), '2432232314');
});

test('the published file is small and stands on nothing but the web', () => {
  const source = readFileSync(
    new URL('../../packages/client/src/verify-webhook.ts', import.meta.url),
    'utf8',
  );
  const code = source.replaceAll(/\/\*\*.*?\*\/|^ *\/\/.*?$/gms, '');
  assert.doesNotMatch(code, /\b(?:import|require|node:|process|Buffer|globalThis)\b/);
  assert.ok(gzipSync(source).length < 5 * 1024);
});
