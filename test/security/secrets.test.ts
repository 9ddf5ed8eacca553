import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogue } from '../../src/errors.ts';
import { searchFor, searchForTexts } from './canaries.ts';
import { live } from './life.ts';

/** Failures that this run does not produce: they depend on time, load, or concurrency. */
const NOT_MET = [40800, 40901, 50300, 50301, 50302, 50303];

test('secrets stay secret while a service runs', async (t) => {
  const life = await live(t);
  const { opaqueTokens, jwts, secrets, privateKeys, contents, answers } = life;
  const tokens = [...opaqueTokens, ...jwts];

  await t.test('every operation and every failure occurred', () => {
    assert.ok(secrets.length === 4 && privateKeys.length > 0 && life.received.length > 3);
    for (const message of [
      'Server listening',
      'delivered',
      'an attempt failed',
      'a request ended',
      'a request failed',
      'plant_store_http_errors_total{error="40101"}',
    ]) {
      assert.ok(
        life.said.some((text) => text.includes(message)),
        message,
      );
    }
    const met = new Set(answers.map(({ code }) => code));
    const missed = Object.keys(catalogue)
      .map(Number)
      .filter((code) => !met.has(code));
    assert.deepEqual(missed, NOT_MET);
  });

  await t.test('no token is in any answer, not even in that to the request with it', () => {
    const find = searchFor(tokens);
    for (const { to, text } of answers) assert.deepEqual(find(text), [], to);
  });

  await t.test(
    "a secret is only in the answer that creates it, and a webhook's also in its repetition",
    () => {
      const find = searchFor(secrets);
      const found = answers.map(({ text }) => find(text));
      for (const secret of secrets) {
        const giving = answers.filter((_, n) => found[n]?.includes(secret.name));
        assert.deepEqual(new Set(giving.map(({ to }) => to)), new Set([secret.to]));
        assert.equal(giving.length, secret.isKept ? 2 : 1);
        for (const { text } of giving) assert.match(text, /^cache-control: no-store$/m);
      }
    },
  );

  await t.test('a private key is in no answer', () => {
    const find = searchFor(privateKeys);
    for (const { to, text } of answers) assert.deepEqual(find(text), [], to);
  });

  await t.test('what a user sent is in no failure', () => {
    const find = searchFor(contents);
    const failures = answers.filter(({ code }) => code !== undefined);
    for (const { to, text } of failures) assert.deepEqual(find(text), [], to);
  });

  await t.test('no secret is in the log, in the metrics, on standard error or in a command line', () => {
    const find = searchFor([...tokens, ...secrets, ...privateKeys, ...contents]);
    for (const text of [...life.said, ...life.commandLines]) assert.deepEqual(find(text), []);
  });

  await t.test('receivers get the plant, and no secrets', () => {
    const find = searchFor([...tokens, ...secrets, ...privateKeys]);
    for (const text of life.received) assert.deepEqual(find(text), []);
  });

  await t.test('the store has a hash of each opaque token, and nothing of JWTs', () => {
    const files = life.files.join();
    const hashed = [...opaqueTokens, ...secrets.filter(({ isKept }) => !isKept)];
    assert.deepEqual(searchForTexts(hashed)(files), []);
    assert.deepEqual(searchFor(hashed)(files), hashed.map(({ name }) => name).sort());
    assert.deepEqual(searchFor(jwts)(files), []);
  });
});
