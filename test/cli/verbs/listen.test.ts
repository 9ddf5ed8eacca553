import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { makePlace } from '../../../testkit/processes/place.ts';
import { run } from '../../../testkit/processes/program.ts';
import { failureOf, startRemote } from '../../../testkit/processes/remote.ts';
import { TOKEN } from '../../../testkit/processes/server.ts';
import { type Received, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { startCuttingProxy } from '../../../testkit/service/cutting-proxy.ts';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { type Watched, watch } from '../watch.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=';

/** A connected `listen`. Ends with the test. */
async function listen(t: TestContext, env: Record<string, string>, ...flags: string[]): Promise<Watched> {
  const listening = watch(['listen', ...flags], env);
  t.after(async () => {
    listening.signal('SIGKILL');
    await listening.ended;
  });
  await listening.said(/Listening to \S+\. Press Ctrl\+C to stop\.\n/);
  return listening;
}

test('each new plant is a line with its time, event, id, name and tag', async (t) => {
  const { env, service, plant } = await startRemote(t);
  await plant('{"name":"before"}');
  const listening = await listen(t, env);
  await plant('{"id":9007199254740993,"name":"Alder","tag":"Alnus"}');
  await plant('{"id":-5,"name":"a\\u001b[31mb\\u202ec"}');
  const [first = '', second = ''] = await listening.lines(2);
  assert.match(first, /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}evt_\w{26} {2}9007199254740993 {2}Alder {2}Alnus$/);
  assert.match(second, / {2}-5 {2}a\\u\{1b\}\[31mb\\u\{202e\}c$/);

  listening.signal('SIGINT');
  const { code, stdout, stderr } = await listening.ended;
  assert.equal(code, 130);
  assert.equal(stdout, `${first}\n${second}\n`);
  assert.equal(stderr, `Listening to ${service.url}. Press Ctrl+C to stop.\n`);
});

test('--json prints each event as it came, on one line, with all digits of its id', async (t) => {
  const { env, plant } = await startRemote(t);
  const listening = await listen(t, env, '--json');
  await plant('{"id":9007199254740993,"name":"Alder","tag":"two\\nlines"}');
  const [line = ''] = await listening.lines(1);
  assert.match(line, /"plant":\{"id":9007199254740993,"name":"Alder","tag":"two\\nlines"\}/);
  assert.equal(JSON.parse(line).type, 'plant.created');
});

test('only plants that the user has access to are shown', async (t) => {
  const { env, service, plant } = await startRemote(t);
  const ann = await service.tokenFor('ann');
  const listening = await listen(t, { ...env, PLANT_STORE_TOKEN: ann });
  await plant('{"name":"of admin"}');
  await service.request('POST', '/plants', { token: ann, body: { name: 'of ann' } });
  const lines = await listening.lines(1);
  assert.match(lines.join(), /^[^\n]*of ann$/);
});

/** Verifies the request with the library for receivers. */
function verified({ body, headers }: Received, secret: string): unknown {
  const signed = {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  };
  return new Webhook(secret).verify(body, signed);
}

/** The header fields that do not depend on where and when a request is sent. */
function stable({ headers }: Received): Record<string, unknown> {
  const { host, 'webhook-timestamp': _, 'webhook-signature': __, ...rest } = headers;
  return rest;
}

test('--forward-to sends the same as a delivery: the same body and header fields, signed', async (t) => {
  const remote = await startRemote(t);
  const own = await startReceiver();
  t.after(() => own.stop());
  await remote.webhook();
  const { host, pathname } = new URL(own.url);
  const listening = await listen(t, remote.env, '--forward-to', host + pathname);
  // Alone on its line: a double click selects exactly the secret.
  const secret = await listening.said(/^whsec_[A-Za-z0-9+/]{43}=$/m);
  await listening.said(/^whpk_[A-Za-z0-9+/]{43}=$/m);

  await remote.plant('{"id":9007199254740993,"name":"Al\\u0007der \\"x\\" 🌱","tag":""}');
  const [[forwarded], [delivered], [line = '']] = await Promise.all([
    own.receive(1),
    remote.receiver.receive(1),
    listening.lines(1),
  ]);
  assert.ok(forwarded && delivered);
  assert.deepEqual(forwarded.body, delivered.body);
  assert.deepEqual(stable(forwarded), stable(delivered));
  assert.deepEqual([forwarded.method, forwarded.path], [delivered.method, delivered.path]);
  assert.match(String(forwarded.headers['webhook-signature']), /^v1,\S+ v1a,\S+$/);
  verified(forwarded, secret);
  assert.match(line, / {2}-> 204 \(\d+ ms\)$/);
});

test("--secret signs with the receiver's secret, and does not show it", async (t) => {
  const { env, plant, receiver } = await startRemote(t);
  const listening = await listen(t, env, '--json', '--forward-to', receiver.url, '--secret', SECRET);
  await plant('{"name":"Alder"}');
  const [request] = await receiver.receive(1);
  assert.ok(request);
  verified(request, SECRET);
  await listening.said(/^evt_\w+ {2}-> 204 \(\d+ ms\)$/m);
  const [line = ''] = await listening.lines(1);
  assert.equal(JSON.parse(line).id, request.headers['webhook-id']);
  listening.signal('SIGINT');
  const { stderr } = await listening.ended;
  assert.match(stderr, /Verify with your secret\nor with the public key\nwhpk_/);
  assert.ok(!stderr.includes(SECRET));
});

test('--quiet hides no new secret, which is shown only once', async (t) => {
  const { env, plant, receiver } = await startRemote(t);
  await plant('{"name":"Alder"}');
  const args = ['listen', '--quiet', '--since', '1h', '--forward-to', receiver.url];
  const listening = watch(args, env);
  t.after(() => listening.signal('SIGKILL'));
  const [request] = await receiver.receive(1);
  assert.ok(request);
  verified(request, await listening.said(/^whsec_[A-Za-z0-9+/]{43}=$/m));

  const own = watch(args, { ...env, SECRET });
  await receiver.receive(2);
  own.signal('SIGINT');
  assert.equal((await own.ended).stderr, '');
});

test('the secret in SECRET signs too, and is not shown either', async (t) => {
  const { env, plant, receiver } = await startRemote(t);
  const listening = await listen(t, { ...env, SECRET }, '--forward-to', receiver.url);
  await listening.said(/Verify with the secret in SECRET\nor/);
  await plant('{"name":"Alder"}');
  const [request] = await receiver.receive(1);
  assert.ok(request);
  verified(request, SECRET);
  listening.signal('SIGINT');
  const { stdout, stderr } = await listening.ended;
  assert.ok(!(stdout + stderr).includes(SECRET));
});

test('an invalid SECRET is a wrong setting and is not repeated; without --forward-to it does not matter', async (t) => {
  const { env } = await startRemote(t);
  const wrong = { ...env, SECRET: 'whsec_short' };
  assert.deepEqual(await run(['listen', '--forward-to', 'http://localhost/'], wrong), {
    code: 2,
    signal: null,
    stdout: '',
    stderr: 'error: SECRET: It must be whsec_ and base64 of 24 to 64 bytes, as "webhook create" shows it.\n',
  });
  await listen(t, wrong);
});

test('a receiver that fails, resets, redirects or is down is shown at the end of the line, and the next event follows', async (t) => {
  const { env, plant } = await startRemote(t);
  const receiver = await startReceiver(await freePort());
  const listening = await listen(t, env, '--forward-to', receiver.url);
  const elsewhere = { status: 302, headers: { location: `${receiver.url}/elsewhere` } };
  receiver.script('reset', { status: 500 }, elsewhere);
  for (let id = 1; id <= 3; id++) await plant(`{"id":${id},"name":"Alder"}`);
  await listening.lines(3);
  assert.equal(receiver.received.length, 3);
  await receiver.stop();
  await plant('{"id":4,"name":"Alder"}');
  const back = await (async () => {
    await listening.lines(4);
    return startReceiver(receiver.port);
  })();
  t.after(() => back.stop());
  await plant('{"id":5,"name":"Alder"}');
  const lines = await listening.lines(5);
  const notes = lines.map((line) =>
    line.replace(/^.* {2}(\d+) {2}Alder {2}/, '$1 ').replace(/\d+ ms/, 'n ms'),
  );
  assert.deepEqual(notes, [
    '1 -> no answer (n ms): The connection was closed before the response was complete.',
    '2 -> 500 (n ms)',
    '3 -> 302 (n ms)',
    '4 -> no answer (n ms): The receiver refused the connection.',
    '5 -> 204 (n ms)',
  ]);
});

test('events are forwarded one at a time and in order', async (t) => {
  const { env, plant, receiver } = await startRemote(t);
  await listen(t, env, '--forward-to', receiver.url);
  let open = 0;
  let most = 0;
  receiver.usually((_, response) => {
    most = Math.max(most, ++open);
    setImmediate(() => {
      open--;
      response.writeHead(204).end();
    });
  });
  const names = Array.from({ length: 20 }, (_, number) => `Alder ${number}`);
  for (const name of names) await plant(JSON.stringify({ name }));
  const requests = await receiver.receive(names.length);
  assert.deepEqual(
    requests.map(({ body }) => JSON.parse(body.toString()).name),
    names,
  );
  assert.equal(most, 1);
});

test('Ctrl+C ends listen with 130 while a receiver hangs', async (t) => {
  const { env, plant, receiver } = await startRemote(t);
  const listening = await listen(t, env, '--forward-to', receiver.url);
  receiver.usually('hang');
  await plant('{"name":"Alder"}');
  await receiver.receive(1);
  listening.signal('SIGINT');
  const { code, stdout } = await listening.ended;
  assert.equal(code, 130);
  assert.match(stdout, /Alder {2}-> no answer \(\d+ ms\): Stopped listening\.\n$/);
});

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`a service that restarts after ${signal} costs listen no event, and it says so once`, async (t) => {
    const place = await makePlace(t);
    const before = await place.serve({ env: { PORT: String(await freePort()) } });
    const listening = await listen(t, { PLANT_STORE_URL: before.url, PLANT_STORE_TOKEN: TOKEN });
    const create = (server: typeof before, name: string) =>
      server.request('POST', '/plants', { body: { name } });
    await create(before, 'first');
    await listening.lines(1);
    before.signal(signal);
    await before.ended;
    await listening.said(/Reconnecting\.\n/);

    const after = await place.serve({ env: { PORT: String(before.port) } });
    // Before or after listen reconnects, each event comes once.
    for (const name of ['second', 'third']) await create(after, name);
    const lines = await listening.lines(3);
    assert.deepEqual(
      lines.map((line) => line.split('  ').at(-1)),
      ['first', 'second', 'third'],
    );
    listening.signal('SIGINT');
    const { code, stderr } = await listening.ended;
    assert.equal(code, 130);
    assert.match(
      stderr,
      /^Listening to .*\nThe (?:event stream broke|service ended the event stream)\. Reconnecting\.\nConnected again\.\n$/,
    );
  });
}

test('a service that is briefly away does not end listen --since before it is connected', async (t) => {
  const { env, service, plant } = await startRemote(t);
  await plant('{"name":"before"}');
  const proxy = await startCuttingProxy(
    t,
    service.url,
    (index) => ([503, 'cut before'] as const)[index] ?? 'pass',
  );
  const listening = await listen(t, { ...env, PLANT_STORE_URL: proxy.url }, '--since', '1h');
  const [line] = await listening.lines(1);
  assert.match(line ?? '', / {2}before$/);
});

test('Ctrl+C ends listen while it waits for such a service', async (t) => {
  const { env, receiver } = await startRemote(t);
  const overloaded = JSON.stringify({ error: 50300, message: 'The service is overloaded.' });
  receiver.usually({ status: 503, headers: { 'retry-after': '50' }, body: overloaded });
  const listening = watch(['listen', '--since', '1h'], { ...env, PLANT_STORE_URL: receiver.url });
  await listening.said(/Retrying for 60 s\./);
  listening.signal('SIGINT');
  assert.equal((await listening.ended).code, 130);
});

test('a revoked token ends listen with 1 and says why', async (t) => {
  const { env, service, verb } = await startRemote(t);
  const [token, other] = [await service.tokenFor('ann'), await service.tokenFor('ann')];
  const listening = await listen(t, { ...env, PLANT_STORE_TOKEN: token });
  const tokens = await verb('token', 'list', '--json', '--data-dir', service.dataDir);
  const { id } = JSON.parse(tokens.stdout).find(({ user }: { user: string }) => user === 'ann');
  assert.equal((await verb('token', 'revoke', id, '--data-dir', service.dataDir)).code, 0);
  // The service checks the token when it has something to send.
  await service.request('POST', '/plants', { token: other, body: { name: 'Alder' } });
  const { code, stdout, stderr } = await listening.ended;
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /\nerror: .* \(error 40101\)[^\n]*\n$/);
});

test('a first connection that fails ends listen with 1: a token without the scope, or no service', async (t) => {
  const { env, service } = await startRemote(t);
  const token = await service.tokenFor('ann', { scopes: ['plants:read'] });
  assert.match(
    failureOf(await run(['listen'], { ...env, PLANT_STORE_TOKEN: token })),
    /^error: .*webhooks:read.* \(error 40300\)$/,
  );
  await service.stop().catch(() => {});
  for (const since of [[], ['--since', '1h']]) {
    assert.match(failureOf(await run(['listen', ...since], env)), /^error: Nothing answers at /);
  }
});

test('listen ends with 0 when its output has no reader', async (t) => {
  const { env, plant } = await startRemote(t);
  const listening = await listen(t, env);
  listening.turnAway();
  await plant('{"name":"Alder"}');
  assert.equal((await listening.ended).code, 0);
});
