import assert from 'node:assert/strict';
import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { test } from 'node:test';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { newKeyPair, newSecret, sign } from '../../../src/webhooks/sending/signature.ts';
import { anyCharacter } from '../../../testkit/random/any-character.ts';
import vectors from '../../../testkit/receivers/standard-webhooks.json' with { type: 'json' };

const { id, timestamp, body, symmetric, asymmetric } = vectors;

test('a message is signed like the vectors of Standard Webhooks', () => {
  const keys = { secrets: [symmetric.secret], privateKey: asymmetric.privateKey };
  assert.equal(sign({ id, timestamp, body, keys }), `${symmetric.signature} ${asymmetric.signature}`);
});

test('every live secret signs, in the order given, before the key pair', () => {
  const [newer, older] = [newSecret(randomBytes), newSecret(randomBytes)];
  const { privateKey } = newKeyPair(randomBytes);
  const signatures = sign({ id, timestamp, body, keys: { secrets: [newer, older], privateKey } }).split(' ');
  const expected = [newer, older].map((secret) =>
    new Webhook(secret).sign(id, new Date(timestamp * 1000), body),
  );
  assert.deepEqual(signatures.slice(0, 2), expected);
  assert.match(signatures[2] ?? '', /^v1a,/);
  assert.equal(signatures.length, 3);
});

test('the public library accepts the signature of any body under any live secret', () => {
  const now = Math.floor(Date.now() / 1000);
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const secrets = [newSecret(randomBytes), newSecret(randomBytes)];
      const content = JSON.stringify(text);
      const signature = sign({
        id: 'evt_1',
        timestamp: now,
        body: content,
        keys: { ...newKeyPair(randomBytes), secrets },
      });
      for (const secret of secrets) {
        const headers = {
          'webhook-id': 'evt_1',
          'webhook-timestamp': String(now),
          'webhook-signature': signature,
        };
        new Webhook(secret).verify(content, headers);
      }
    }),
    { numRuns: 50 },
  );
});

test('the published key verifies what the private key signed', () => {
  const pair = newKeyPair(randomBytes);
  const signature = sign({ id, timestamp, body, keys: { secrets: [], privateKey: pair.privateKey } });
  const x = Buffer.from(pair.publicKey.replace('whpk_', ''), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const bytes = Buffer.from(signature.replace('v1a,', ''), 'base64');
  assert.equal(verify(null, Buffer.from(`${id}.${timestamp}.${body}`), key, bytes), true);
});

test('keys have the length and the form of Standard Webhooks', () => {
  const { privateKey, publicKey } = newKeyPair(randomBytes);
  assert.match(newSecret(randomBytes), /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.match(privateKey, /^whsk_[A-Za-z0-9+/]{86}==$/);
  assert.match(publicKey, /^whpk_[A-Za-z0-9+/]{43}=$/);
});

test('keys beyond the cache of imported ones still sign correctly', () => {
  const first = newKeyPair(randomBytes);
  const content = { id, timestamp, body };
  const before = sign({ ...content, keys: { secrets: [], privateKey: first.privateKey } });
  for (let i = 0; i < 1100; i++) {
    sign({ ...content, keys: { secrets: [], privateKey: newKeyPair(randomBytes).privateKey } });
  }
  assert.equal(sign({ ...content, keys: { secrets: [], privateKey: first.privateKey } }), before);
});

test('an invalid key is refused without showing it', () => {
  const good = newKeyPair(randomBytes).privateKey;
  const bad = [
    { secrets: ['whsec_c2hvcnQ='], privateKey: good },
    { secrets: [newSecret(randomBytes).replace('whsec_', 'other_')], privateKey: good },
    { secrets: [], privateKey: 'whsk_c2hvcnQ=' },
    { secrets: [], privateKey: '' },
  ];
  for (const keys of bad) {
    assert.throws(
      () => sign({ id, timestamp, body, keys }),
      (error: Error) => /^A signing key is not wh/.test(error.message) && !error.message.includes('c2hvcnQ'),
    );
  }
});

test('an error left in OpenSSL’s queue by other code spoils no signature', () => {
  const { privateKey } = newKeyPair(randomBytes);
  const content = { id, timestamp, body, keys: { secrets: [], privateKey } };
  // Creating the socket refuses its name, and nothing clears the queue before a handshake starts.
  const socket = connect({ host: '127.0.0.1', port: 1, lookup: () => {}, servername: 'a'.repeat(256) });
  socket.on('error', () => {});
  try {
    assert.match(sign(content), /^v1a,/);
  } finally {
    socket.destroy();
  }
});
