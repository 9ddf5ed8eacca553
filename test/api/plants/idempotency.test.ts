import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { storePath } from '../../../src/config/config.ts';
import { parseKey } from '../../../src/http/request/idempotency.ts';
import { type Answer, failed, succeeded } from '../../../testkit/service/answer.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { scrape } from '../../../testkit/service/scrape.ts';
import { type Service, startService } from '../../../testkit/service/service.ts';

describe('Idempotency-Key', () => {
  let service: Service;
  before(async () => {
    service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', METRICS_PORT: '0' });
  });
  after(() => service.stop());

  const newKey = () => randomBytes(9).toString('hex');

  function post(path: string, body: unknown, key: string, token = service.token): Promise<Answer> {
    return service.request('POST', path, { token, headers: { 'idempotency-key': key }, body });
  }

  const isReplayed = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true';
  const partsOf = ({ status, headers, text }: Answer) => [status, headers.get('location'), text];

  async function namesOf(token: string): Promise<string[]> {
    const answer = await service.request('GET', '/plants', { token });
    return JSON.parse(answer.text).map(({ name }: { name: string }) => name);
  }

  test('a create repeated with its key adds one plant and gets the same answer', async () => {
    const token = await service.tokenFor('repeater');
    const key = newKey();
    const first = await post('/plants', { name: 'Alder' }, key, token);
    assert.equal(isReplayed(first), false);
    succeeded(first, 201);
    const again = await post('/plants', { name: 'Alder' }, `"${key}"`, token);
    assert.ok(isReplayed(again));
    assert.deepEqual(partsOf(again), partsOf(first));
    assert.equal(again.headers.get('content-type'), 'application/json');
    assert.deepEqual(await namesOf(token), ['Alder']);
    const events = await service.request('GET', '/events', { token });
    assert.equal(JSON.parse(events.text).events.length, 1);
  });

  test('a repeated create whose id was taken gets the same answer, even after the plant is gone', async () => {
    const token = await service.tokenFor('loser');
    const key = newKey();
    await service.request('POST', '/plants', { token, body: { name: 'Alder', id: 7 } });
    const first = await post('/plants', { name: 'Birch', id: 7 }, key, token);
    failed(first, 40900);
    await service.request('DELETE', '/plants/7', { token });
    const again = await post('/plants', { name: 'Birch', id: 7 }, key, token);
    assert.ok(isReplayed(again));
    assert.deepEqual(partsOf(again), partsOf(first));
    assert.deepEqual(await namesOf(token), []);
  });

  test('a repeated failure has an id of its own to quote, and is counted', async () => {
    const key = newKey();
    const first = await post('/plants', '{', key);
    const counted = async () =>
      (await scrape(service.metricsUrl ?? '')).value('plant_store_http_errors_total', { error: '40001' });
    const before = await counted();
    const again = await post('/plants', '{', key);
    assert.ok(isReplayed(again));
    assert.equal(again.headers.get('cache-control'), 'no-store');
    assert.match(again.headers.get('x-request-id') ?? '', /./);
    assert.notEqual(again.headers.get('x-request-id'), first.headers.get('x-request-id'));
    await eventually('count of the repeated failure', async () =>
      (await counted()) === (before ?? 0) + 1 ? true : undefined,
    );
  });

  test('a refused body is refused the same way again, and its key is used up', async () => {
    for (const [body, code] of [
      ['{"name":7}', 40002],
      ['{"name":', 40001],
      ['null', 40002],
    ] as const) {
      const key = newKey();
      const first = await post('/plants', body, key);
      failed(first, code);
      const again = await post('/plants', body, key);
      assert.ok(isReplayed(again), body);
      assert.deepEqual(partsOf(again), partsOf(first));
      failed(await post('/plants', { name: 'Alder' }, key), 42200);
    }
  });

  test('a key with another body is refused, and changes nothing', async () => {
    const token = await service.tokenFor('changer');
    const key = newKey();
    await post('/plants', { name: 'Alder' }, key, token);
    for (const body of [{ name: 'Birch' }, '{"name": "Alder"}', '{', undefined]) {
      failed(await post('/plants', body, key, token), 42200);
    }
    failed(await post('/plants?x=1', { name: 'Alder' }, key, token), 42200);
    assert.deepEqual(await namesOf(token), ['Alder']);
  });

  test('a key belongs to its user and its path', async () => {
    const [one, other] = [await service.tokenFor('one'), await service.tokenFor('other')];
    const key = newKey();
    const answers = [
      await post('/plants', { name: 'Alder' }, key, one),
      await post('/plants', { name: 'Birch' }, key, other),
      await post('/webhooks', { url: 'http://127.0.0.1:1/' }, key, one),
    ];
    for (const answer of answers) {
      succeeded(answer, 201);
      assert.equal(isReplayed(answer), false);
    }
  });

  test('answers that depend on the token or the time are not kept', async () => {
    const token = await service.tokenFor('reader', { scopes: ['plants:read'] });
    const key = newKey();
    failed(await post('/plants', { name: 'Alder' }, key, token), 40300);
    failed(await post('/plants', { name: 'Alder' }, key, 'unknown'), 40101);
    const all = await service.tokenFor('reader');
    const answer = await post('/plants', { name: 'Alder' }, key, all);
    succeeded(answer, 201);
    assert.equal(isReplayed(answer), false);
  });

  test('of concurrent requests with one key, one is carried out', async () => {
    const token = await service.tokenFor('racer');
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post('/plants', { name: 'Alder' }, key, token)),
    );
    for (const answer of answers) {
      if (answer.status === 409) failed(answer, 40901);
      else succeeded(answer, 201);
    }
    const done = answers.filter((answer) => answer.status === 201 && !isReplayed(answer));
    assert.equal(done.length, 1);
    assert.deepEqual(await namesOf(token), ['Alder']);
    assert.ok(isReplayed(await post('/plants', { name: 'Alder' }, key, token)));
  });

  const skip = process.env.TEST_STORE === 'postgres' && 'it opens the file of the embedded store';
  test('an answer is kept for 24 hours', { skip }, async () => {
    const token = await service.tokenFor('keeper');
    succeeded(await post('/plants', { name: 'Alder' }, newKey(), token), 201);
    using store = new DatabaseSync(storePath(service.dataDir), { readOnly: true });
    const { left } = store.prepare(`SELECT max(expires_at) - ? AS left FROM idempotency`).get(Date.now()) as {
      left: number;
    };
    assert.ok(Math.abs(left - 24 * 3_600_000) < 60_000, String(left));
  });

  test('while a request runs under a key, others with it are asked to retry, whatever they are', {
    skip,
  }, async () => {
    const token = await service.tokenFor('patient');
    const key = newKey();
    const other = new DatabaseSync(storePath(service.dataDir), { timeout: 5000 });
    other.exec('BEGIN IMMEDIATE');
    const answers: Answer[] = [];
    const requests = ['Alder', 'Birch', 'Alder'].map(async (name) => {
      answers.push(await post('/plants', { name }, key, token));
    });
    await eventually('answer to each other', async () => (answers.length === 2 ? true : undefined));
    other.exec('COMMIT');
    other.close();
    await Promise.all(requests);
    for (const [n, answer] of answers.entries()) {
      if (n < 2) failed(answer, 40901);
      else succeeded(answer, 201);
    }
    failed(await post('/plants', { name: 'Cedar' }, key, token), 42200);
  });

  test('a retry gets its answer although another request uses the same key', async () => {
    const token = await service.tokenFor('rival');
    for (let n = 0; n < 20; n++) {
      const key = newKey();
      succeeded(await post('/plants', { name: 'Alder' }, key, token), 201);
      const [wrong, ...retries] = await Promise.all([
        post('/plants', { name: 'Birch' }, key, token),
        post('/plants', { name: 'Alder' }, key, token),
        post('/plants', { name: 'Alder' }, key, token),
      ]);
      failed(wrong, 42200);
      for (const retry of retries) assert.ok(isReplayed(retry), retry.text);
    }
  });

  test('a client that left before its answer gets it on a retry', async () => {
    const token = await service.tokenFor('leaver');
    for (let n = 0; n < 10; n++) {
      const key = newKey();
      const body = JSON.stringify({ name: `Alder ${n}` });
      const head =
        `POST /plants HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\nidempotency-key: ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
      const socket = connect(service.port, '127.0.0.1');
      await new Promise<void>((resolve) => socket.write(head + body, () => resolve()));
      socket.resetAndDestroy();
      // Whether it was carried out, was not, or still is.
      const answer = await eventually('answer', async () => {
        const tried = await post('/plants', body, key, token);
        return tried.status === 409 ? undefined : tried;
      });
      succeeded(answer, 201);
    }
    assert.equal(new Set(await namesOf(token)).size, (await namesOf(token)).length);
    assert.equal((await namesOf(token)).length, 10);
  });

  test('every other POST can be repeated safely, including its secret', async () => {
    const token = await service.tokenFor('hooker');
    const key = newKey();
    const created = await post('/webhooks', { url: 'http://127.0.0.1:1/' }, key, token);
    const { id, secret } = JSON.parse(created.text);
    assert.match(secret, /^whsec_/);
    const again = await post('/webhooks', { url: 'http://127.0.0.1:1/' }, key, token);
    assert.deepEqual(partsOf(again), partsOf(created));
    assert.equal(again.headers.get('cache-control'), 'no-store');
    const listed = await service.request('GET', '/webhooks', { token });
    assert.equal(JSON.parse(listed.text).length, 1);

    const event = JSON.parse((await post(`/webhooks/${id}/test`, undefined, newKey(), token)).text).event;
    const paths = [
      [`/webhooks/${id}/test`, undefined],
      [`/webhooks/${id}/deliveries/${event}/redeliver`, undefined],
      [`/webhooks/${id}/rotate-secret`, { overlap: 60 }],
      [`/webhooks/${id}/replay`, { since: '2026-01-01T00:00:00Z' }],
    ] as const;
    for (const [path, body] of paths) {
      const repeated = newKey();
      const first = await post(path, body, repeated, token);
      assert.ok(first.status < 300, first.text);
      const second = await post(path, body, repeated, token);
      assert.ok(isReplayed(second), path);
      assert.deepEqual(partsOf(second), partsOf(first));
    }
    const missing = newKey();
    failed(await post('/webhooks/wh_none/test', undefined, missing, token), 40402);
    assert.ok(isReplayed(await post('/webhooks/wh_none/test', undefined, missing, token)));
  });

  test('an escaped path is the same path', async () => {
    const token = await service.tokenFor('escaper');
    const made = await post('/webhooks', { url: 'http://127.0.0.1:1/' }, newKey(), token);
    const { id } = JSON.parse(made.text);
    const key = newKey();
    await post(`/webhooks/${id}/test`, undefined, key, token);
    assert.ok(isReplayed(await post(`/webhooks/%77${id.slice(1)}/test`, undefined, key, token)));
  });

  test('a malformed key is refused', async () => {
    for (const key of ['', '""', '"a', 'a"b', 'a b', '"a\\b"', 'a,b', '"a";b', 'x'.repeat(256), 'ä']) {
      const answer = await service.request('POST', '/plants', {
        headers: { 'idempotency-key': key },
        body: { name: 'Alder' },
      });
      failed(answer, 40006);
    }
  });

  test('a key is 1 to 255 characters, counted without quotation marks and escapes', () => {
    assert.equal(parseKey('8e03978e-40d5-43e8-bc93-6894a57f9324'), '8e03978e-40d5-43e8-bc93-6894a57f9324');
    assert.equal(parseKey('"a \\"b\\" \\\\"'), 'a "b" \\');
    assert.equal(parseKey(`"${'x'.repeat(255)}"`)?.length, 255);
    assert.equal(parseKey(`"${'\\"'.repeat(255)}"`)?.length, 255);
    assert.equal(parseKey(`"${'x'.repeat(256)}"`), undefined);
  });
});
