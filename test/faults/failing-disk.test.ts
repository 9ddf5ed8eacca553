import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import {
  createDiskFaults,
  type DiskFaults,
  type Fault,
  whyNoFaults,
} from '../../bench/faults/disk-faults.ts';
import { storePath } from '../../src/config/config.ts';
import { processes } from '../../src/limits.ts';
import { checkListed, createUntilFailed, type Sent } from '../../testkit/processes/creates.ts';
import { leftBehind } from '../../testkit/processes/left-behind.ts';
import { makePlace, type Place } from '../../testkit/processes/place.ts';
import { manyPlants } from '../../testkit/processes/plants.ts';
import { launch, outcomeOf } from '../../testkit/processes/program.ts';
import { type Server, TOKEN } from '../../testkit/processes/server.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { type Answer, failed, succeeded } from '../../testkit/service/answer.ts';
import { eventually } from '../../testkit/service/eventually.ts';
import { ownerOf } from '../../testkit/service/owner.ts';
import { failureToConnect, openRaw } from '../../testkit/sockets/raw-client.ts';
import { head } from '../../testkit/sockets/raw-request.ts';

const skip = whyNoFaults() ?? false;
/** More plants than a connection's page cache holds: lists read the disk. */
const PLANTS = 10_000;

type Faulty = { place: Place; faults: DiskFaults; server: Server; path: string };

const emptyStore = await leftBehind((place) => place.prepare());
const fullStore = await leftBehind(async (place) => {
  await place.prepare();
  place.write(manyPlants(PLANTS));
});

async function served(t: TestContext, store = emptyStore): Promise<Faulty> {
  const { place } = await store(t);
  const faults = createDiskFaults(place.folder);
  const server = await place.serve({ env: faults.env(place.dataDir) });
  return { place, faults, server, path: storePath(place.dataDir) };
}

/** The messages of the log's lines of this level, except those that a user's token caused. */
function said(stdout: string, level: 'error' | 'info'): string[] {
  const lines = stdout
    .split('\n')
    .filter((line) => line.includes(level === 'error' ? '"level":50' : '"level":30'));
  // A line of the log is pino's object.
  return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
}

/** After the fault: the first answer other than 503. */
async function untilAnswered(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503) return answer;
  }
}

for (const error of ['EIO', 'ENOSPC'] as const) {
  test(`while reads fail with ${error} lists get 50302, /readyz says so, and both recover with the fault's end`, {
    skip,
  }, async (t) => {
    const { faults, server, path } = await served(t, fullStore);
    faults.arm({ op: 'read', error, count: Infinity });
    for (let i = 0; i < 5; i++) {
      failed(await server.request('GET', '/plants?limit=10000'), 50302, /^[^/]+$/);
      failed(await server.request('GET', '/readyz'), 50302, /^[^/]+$/);
    }
    faults.disarm();
    succeeded(await untilAnswered(() => server.request('GET', '/readyz')), 200);
    const listed = succeeded(await server.request('GET', '/plants?limit=10000'), 200);
    assert.equal(Array.isArray(listed) && listed.length, PLANTS);

    const { code, stdout } = await server.stop();
    assert.equal(code, 0);
    const errors = said(stdout, 'error');
    assert.ok(errors.length >= 1 && errors.length <= 2, `${errors}`);
    assert.ok(errors.every((message) => message.startsWith(path)));
    if (error === 'EIO') assert.match(errors.at(-1) ?? '', /EIO/);
    assert.deepEqual(said(stdout, 'info').filter((message) => /is readable again/.test(message)).length, 1);
  });
}

const refusals: (Fault & { says: RegExp })[] = [
  { op: 'write', error: 'EROFS', says: /EROFS.*read-only/ },
  { op: 'write', error: 'EDQUOT', says: /EDQUOT.*quota/ },
  { op: 'write', error: 'ENOSPC', says: /ENOSPC.*full/ },
];

for (const { says, ...fault } of refusals) {
  test(`on ${fault.error} reads continue, creates get 503, and the log says what to do`, {
    skip,
  }, async (t) => {
    const { place, faults, server, path } = await served(t);
    const sent: Sent[] = [];
    for (const round of [1, 2]) {
      faults.arm({ ...fault, count: Infinity });
      await createUntilFailed(server, sent);
      await createUntilFailed(server, sent);
      await checkListed(server, sent);
      succeeded(await server.request('GET', '/readyz'), 200);
      // No write is attempted while it would fail, so the outcome is known.
      failed(await server.request('POST', '/plants', { body: { name: 'Alder' } }), 50302);
      faults.disarm();
      const birch = { id: -1_000_000 - round, name: `Birch ${round}` };
      succeeded(await server.request('POST', '/plants', { body: birch }), 201);
      sent.push({ ...birch, outcome: 201 });
    }
    const { code, stdout } = await server.stop();
    assert.equal(code, 0);
    const errors = said(stdout, 'error');
    // One per round, or one in all if the second followed at once.
    assert.ok(errors.length === 1 || errors.length === 2, `${errors}`);
    for (const message of errors) {
      assert.ok(message.startsWith(path));
      assert.match(message, says);
    }
    await checkListed(await place.serve(), sent);
  });
}

test('on a full disk a verb beside the service says why it did nothing', { skip }, async (t) => {
  const { place, faults, path } = await served(t);
  faults.arm({ op: 'write', error: 'ENOSPC', count: Infinity });
  const verb = launch(['user', 'create', 'ann', '--data-dir', place.dataDir], faults.env(place.dataDir));
  assert.equal(
    (await outcomeOf(verb)).stderr,
    `error: The store ${path} cannot be used: the disk is full (ENOSPC, SQLite 13: database or disk is full). Free up space.\n`,
  );
  faults.disarm();
});

test('a refusal that cannot be recorded under its key is not answered, since a retry may succeed', {
  skip,
}, async (t) => {
  const { faults, server } = await served(t);
  async function create(key = 'later', body = '{"id":-7,"name":"Alder"}'): Promise<Answer> {
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    };
    const response = await fetch(`${server.url}/plants`, { method: 'POST', headers, body });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }
  succeeded(await server.request('POST', '/plants', { body: { id: -7, name: 'In the way' } }), 201);
  faults.arm({ op: 'write', error: 'ENOSPC', count: Infinity });
  failed(await create(), 50302);
  failed(await create('empty', '{"name":""}'), 50302);
  faults.disarm();
  failed(await create('empty', '{"name":""}'), 40002);
  succeeded(await server.request('DELETE', '/plants/-7'), 204);
  succeeded(await create(), 201);
  await server.stop();
});

test('when a flush fails, pending requests are answered before the process ends', { skip }, async (t) => {
  const { place, faults, server, path } = await served(t);
  const fields = ['Host: localhost', `Authorization: Bearer ${TOKEN}`, 'Content-Type: application/json'];
  const body = '{"name":"Alder"}';
  // The token's first use of the day is written after its first request, and the fault could hit only that write.
  succeeded(await server.request('POST', '/plants', { body: { name: 'Before' } }), 201);
  const request = head('POST /plants HTTP/1.1', ...fields, `Content-Length: ${body.length}`) + body;
  const clients = await Promise.all(Array.from({ length: 16 }, () => openRaw(server.port)));
  const upload = await openRaw(server.port);
  await upload.send(request.slice(0, -5));
  const begun = performance.now();
  faults.arm({ op: 'fsync', error: 'EIO', action: 'doneButError' });
  await Promise.all(clients.map((client) => client.send(request)));
  const answers = await Promise.all(clients.map((client) => client.answer()));
  const codes = answers.map(({ text }) => Number(JSON.parse(text).error));
  assert.ok(codes.includes(50301));
  assert.ok(
    codes.every((code) => [50301, 50302, 50303].includes(code)),
    `${codes}`,
  );
  // A slow upload, which ends after the service has stopped listening.
  await eventually('end of the listening', () => failureToConnect(server.port));
  await upload.send(request.slice(-5));
  const late = await upload.answer().catch((error: unknown) => {
    // On a machine this slow the service ends before the rest of the upload arrives.
    if (performance.now() - begun < processes.lastAnswersMs) throw error;
  });
  if (late) assert.match(late.text, /"error":5030[23],/);

  const { code, stderr } = await server.ended;
  assert.equal(code, 1);
  assert.match(stderr, /\nerror: [^\n]*outcome is unknown: a flush \(fsync\)[^\n]*\n$/);
  assert.ok(stderr.includes(path));
  await (await place.serve()).stop();
});

test('when the flush of an outcome fails the process ends, and the delivery is resent', {
  skip,
}, async (t) => {
  const place = await makePlace(t);
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const faults = createDiskFaults(place.folder);
  const allowed = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  const server = await place.serve({ env: { ...faults.env(place.dataDir), ...allowed } });
  const webhook = await ownerOf(server, TOKEN).subscribe(receiver);
  // Nothing else is written meanwhile.
  receiver.script((_, response) => {
    faults.arm({ op: 'fsync', error: 'EIO' });
    response.writeHead(204).end();
  });
  await ownerOf(server, TOKEN).create(1);
  const { code, stderr } = await server.ended;
  assert.equal(code, 1);
  assert.match(stderr, /\nerror: [^\n]*outcome is unknown: a flush \(fsync\)[^\n]*\n$/);

  const next = await place.serve({ env: allowed });
  await ownerOf(next, TOKEN).settled(webhook);
  const sent = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
  assert.equal(sent.size, 1);
  assert.equal((await next.stop()).code, 0);
});

test('a damaged store stops the service, which says that the disk is not at fault', { skip }, async (t) => {
  const { place, server: first, path } = await served(t, fullStore);
  await first.stop();
  const fd = openSync(path, 'r+');
  for (let page = 300; page < 310; page++) writeSync(fd, Buffer.alloc(4096, 0xa5), 0, 4096, page * 4096);
  closeSync(fd);
  const server = await place.serve();
  await server.request('GET', '/plants?limit=10000').then(
    (answer) => failed(answer, 50302),
    () => {},
  );
  const { code, stdout, stderr } = await server.ended;
  assert.equal(code, 1);
  assert.match(stderr, /\nerror: [^\n]*plant-store\.db is damaged[^\n]*doctor[^\n]*restore[^\n]*\n$/);
  assert.equal(said(stdout, 'error').filter((message) => /is damaged:/.test(message)).length, 1);
});
