import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { verifyWebhook, WebhookVerificationError } from 'plant-store/client';
import { Webhook } from 'standardwebhooks';
import { newKeyPair, newSecret, sign } from '../../src/webhooks/sending/signature.ts';

/** Compares `verifyWebhook` with the service's signing and the public library. */

const now = new Date();
const timestamp = Math.floor(now.getTime() / 1000);
const ids = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const bodies = fc.oneof(
  fc.json(),
  fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
);

type Request = { headers: Record<string, string>; body: string };

function signed(id: string, body: string, keys: Parameters<typeof sign>[0]['keys']): Request {
  const signature = sign({ id, timestamp, body, keys });
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature,
  };
  return { headers, body };
}

test('everything the service signs is verified, under each live secret and the public key', () =>
  fc.assert(
    fc.asyncProperty(ids, bodies, async (id, body) => {
      const pair = newKeyPair(randomBytes);
      const secrets = [newSecret(randomBytes), newSecret(randomBytes)];
      const { headers } = signed(id, body, { secrets, privateKey: pair.privateKey });
      for (const key of [...secrets, pair.publicKey]) {
        const verified = await verifyWebhook<unknown>(headers, body, key, { now });
        assert.equal(verified.id, id);
        assert.equal(verified.timestamp.getTime(), timestamp * 1000);
        assert.deepEqual(verified.payload, JSON.parse(body, largeToBigint));
      }
    }),
    { numRuns: 100 },
  ));

test('a runtime that cannot read an id exactly says so, rather than round it', async (t) => {
  const secrets = [newSecret(randomBytes)] as const;
  const keys = { secrets, privateKey: newKeyPair(randomBytes).privateKey };
  const { headers, body } = signed('evt_1', '{"id":9007199254740993}', keys);
  const { parse } = JSON;
  t.mock.method(JSON, 'parse', (text: string, reviver: (name: string, value: unknown) => unknown) =>
    parse(text, (name, value) => reviver(name, value)),
  );
  const refusal = { name: 'RangeError', message: /an id beyond 2\^53/ };
  await assert.rejects(verifyWebhook(headers, body, secrets[0], { now }), refusal);
});

test('a request with any flipped bit is refused', () =>
  fc.assert(
    fc.asyncProperty(ids, bodies, fc.nat(), fc.boolean(), async (id, body, position, symmetric) => {
      const pair = newKeyPair(randomBytes);
      const secret = newSecret(randomBytes);
      const { headers } = signed(id, body, { secrets: [secret], privateKey: pair.privateKey });
      const [v1 = '', v1a = ''] = (headers['webhook-signature'] ?? '').split(' ');
      const parts = [id, String(timestamp), symmetric ? v1 : v1a, body].map((text) => Buffer.from(text));
      flip(parts, position);
      const [flippedId, flippedTime, flippedSignature, flippedBody] = parts;
      const flipped = {
        'webhook-id': String(flippedId),
        'webhook-timestamp': String(flippedTime),
        'webhook-signature': String(flippedSignature),
      };
      const key = symmetric ? secret : pair.publicKey;
      const verified = verifyWebhook(flipped, flippedBody ?? '', key, { now });
      await assert.rejects(verified, WebhookVerificationError);
    }),
    { numRuns: 500 },
  ));

test('the public library and the client agree on genuine and forged requests of both', () =>
  fc.assert(
    fc.asyncProperty(
      ids,
      bodies,
      fc.constantFrom('as it is', 'body', 'id', 'key'),
      async (id, body, change) => {
        const secret = newSecret(randomBytes);
        const { privateKey } = newKeyPair(randomBytes);
        const theirs = new Webhook(secret).sign(id, now, body);
        const ours = signed(id, body, { secrets: [secret], privateKey });
        for (const signature of [theirs, `v1,AAAA v3,x ${theirs}`, ours.headers['webhook-signature'] ?? '']) {
          const headers: Request['headers'] = { ...ours.headers, 'webhook-signature': signature };
          if (change === 'id') headers['webhook-id'] = `${id}0`;
          const given = change === 'body' ? `${body} ` : body;
          const key = change === 'key' ? newSecret(randomBytes) : secret;
          const expected = change === 'as it is';
          assert.equal(
            accepts(() => new Webhook(key).verify(given, headers)),
            expected,
          );
          const verified = verifyWebhook(headers, given, key, { now });
          assert.equal(await verified.then(() => true, isRefusal), expected);
        }
      },
    ),
    { numRuns: 100 },
  ));

test('integers beyond the safe ones of JavaScript become bigint, wherever they are', async () => {
  const numbers: [string, unknown][] = [
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['0', 0],
    ['-7', -7],
    ['1e30', 1e30],
    ['9007199254740993.5', 9007199254740994],
    ['9007199254740993.0', 9007199254740992],
    ['0.1', 0.1],
    ['"9007199254740993"', '9007199254740993'],
  ];
  for (const [text, value] of numbers) {
    assert.deepEqual(await payloadOf(`{"id":${text},"in":[{"it":${text}}]}`), {
      id: value,
      in: [{ it: value }],
    });
    assert.deepEqual(await payloadOf(text), value);
  }
});

test('a genuine body that is not JSON in UTF-8 is refused as such', async () => {
  const secret = newSecret(randomBytes);
  for (const body of ['', 'plant', '{"a":1', '[1,]', `${'['.repeat(200_000)}`, '\ud800']) {
    const { headers } = signed('evt_1', body, { secrets: [secret], ...newKeyPair(randomBytes) });
    await assert.rejects(verifyWebhook(headers, body, secret), { reason: 'not-json' });
  }
  const bytes = Buffer.from([0x22, 0xff, 0x22]);
  const content = Buffer.concat([Buffer.from(`evt_1.${timestamp}.`), bytes]);
  const key = await crypto.subtle.importKey(
    'raw',
    Buffer.from(secret.slice('whsec_'.length), 'base64'),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign'],
  );
  const mac = Buffer.from(await crypto.subtle.sign('HMAC', key, content)).toString('base64');
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${mac}`,
  };
  await assert.rejects(verifyWebhook(headers, bytes, secret), { reason: 'not-json' });
});

async function payloadOf(body: string): Promise<unknown> {
  const secret = newSecret(randomBytes);
  const { headers } = signed('evt_1', body, { secrets: [secret], ...newKeyPair(randomBytes) });
  return (await verifyWebhook<unknown>(headers, body, secret)).payload;
}

/** For JSON.stringify output: it writes integers up to 1e21 with all digits. */
function largeToBigint(_name: string, value: unknown): unknown {
  const large = Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(Number(value)) < 1e21;
  return large ? BigInt(String(value)) : value;
}

/** Flips one bit, by its position across all parts. */
function flip(parts: Buffer[], position: number): void {
  let bit = position % (8 * parts.reduce((size, part) => size + part.length, 0));
  for (const part of parts) {
    if (bit < 8 * part.length) {
      part[bit >> 3] = (part[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return;
    }
    bit -= 8 * part.length;
  }
}

function accepts(verify: () => unknown): boolean {
  try {
    verify();
    return true;
  } catch {
    return false;
  }
}

function isRefusal(error: unknown): boolean {
  if (error instanceof WebhookVerificationError) return false;
  throw error;
}
