import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { PROGRAM } from '../../../testkit/processes/executable.ts';
import { launch, outcomeOf, run, untilSaid, withFolder } from '../../../testkit/processes/program.ts';
import { startReceiver } from '../../../testkit/receivers/receiver.ts';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { rowsAt, withImport, wordsOf } from './importing.ts';

const ADDED = { status: 201 };
const OVERLOADED = { error: 50300, message: 'The service is overloaded.' };
/** What a thread waits for. */
const WAITS = '/proc/self/wchan';

test('an import waits no longer than --patience for a Retry-After of an hour, or for an answer', async (t) => {
  await withImport(t, async ({ write, env, receiver }) => {
    const file = write('p.csv', 'name\nAlder\n');
    const load = () =>
      run(['plant', 'import', file, '--patience', '1s'], { ...env, PLANT_STORE_URL: receiver.url });
    receiver.usually({ status: 503, headers: { 'retry-after': '3600' }, body: JSON.stringify(OVERLOADED) });
    assert.match(wordsOf(await load(), 1), /\(error 50300\) Gave up after 1s\.\n$/);
    receiver.usually('hang');
    assert.match(
      wordsOf(await load(), 1),
      /error: No complete answer from \S+ in time\. It may or may not .* Gave up after 1s\.\n$/,
    );
  });
});

test('an import that gives up prints what it did as JSON', async (t) => {
  await withImport(t, async ({ write, env, receiver }) => {
    const ann = { status: 200, body: '{"user":"ann","scopes":[]}' };
    receiver.script(ann, ADDED, { status: 404 });
    const load = ['plant', 'import', write('p.csv', 'name\nAlder\nBeech\n'), '--concurrency', '1', '--json'];
    const { code, stdout } = await run(load, { ...env, PLANT_STORE_URL: receiver.url });
    const { complete, added, left } = JSON.parse(stdout);
    assert.deepEqual({ code, complete, added, left }, { code: 1, complete: false, added: 1, left: 1 });
  });
});

test('an import does not continue until the service tells that the token is of the same user', async (t) => {
  await withImport(t, async ({ write, env, receiver }) => {
    const load = ['plant', 'import', write('p.csv', 'name\nAlder\nBeech\n'), '--concurrency', '1'];
    const loaded = async (code: 0 | 1) =>
      wordsOf(await run(load, { ...env, PLANT_STORE_URL: receiver.url }), code);
    const ann = { status: 200, body: '{"user":"ann","scopes":[]}' };
    const overloaded = (seconds: string) => ({
      status: 503,
      headers: { 'retry-after': seconds },
      body: JSON.stringify(OVERLOADED),
    });
    receiver.script(ann, ADDED, { status: 404 });
    assert.match(await loaded(1), /^Stopped: 1 row added/);
    receiver.usually(ADDED);
    receiver.script(overloaded('3600'));
    assert.equal(await loaded(1), 'error: The service is overloaded. (error 50300)\n');
    assert.equal(rowsAt(receiver), 2);
    receiver.script(overloaded('0'), ann);
    assert.match(
      await loaded(0),
      /^The service is overloaded\. .* Retrying for 300 s\.\nContinuing .*\n2 rows added/,
    );
  });
});

test('an import that continues waits for a service that restarts, until Ctrl+C', async (t) => {
  await withFolder(async (folder) => {
    const file = join(folder, 'p.csv');
    writeFileSync(file, 'name\nAlder\nBeech\n');
    const receiver = await startReceiver(await freePort());
    t.after(receiver.stop);
    const env = { PLANT_STORE_URL: receiver.url, PLANT_STORE_TOKEN: 'x' };
    const load = ['plant', 'import', file, '--concurrency', '1'];
    receiver.script({ status: 200, body: '{"user":"ann"}' }, ADDED, { status: 404 });
    wordsOf(await run(load, env), 1);
    await receiver.stop();
    const waiting = launch(load, env);
    const ended = outcomeOf(waiting);
    await untilSaid(waiting.stderr, 'Retrying for 5 s.', ended);
    waiting.kill('SIGINT');
    assert.match(
      wordsOf(await ended, 130),
      /^Nothing answers at .*\nerror: Stopped before anything was sent\.$/m,
    );
  });
});

test('an import ends at once at a status that only HTTP allows', async (t) => {
  await withImport(t, async ({ write, env, receiver }) => {
    receiver.usually({ status: 999, body: 'Denied' });
    const load = ['plant', 'import', write('p.csv', 'name\nAlder\n')];
    const said = wordsOf(await run(load, { ...env, PLANT_STORE_URL: receiver.url }), 1);
    assert.match(said, /^error: \S+ answers 999, but not like a plant store\./m);
    assert.equal(rowsAt(receiver), 1);
  });
});

test('a fault of the service passes, or fails only the row that always causes it', async (t) => {
  await withImport(t, async ({ write, env, receiver }) => {
    const file = write('p.csv', 'name\nAlder\nBeech\n');
    const fault = JSON.stringify({ error: 50000, message: 'The service failed.' });
    receiver.usually(({ body }, response) => {
      const isFirst = rowsAt(receiver) === 1;
      const isFault = isFirst || body.toString().includes('Beech');
      response.writeHead(isFault ? 500 : 201).end(isFault ? fault : '');
    });
    const load = ['plant', 'import', file, '--concurrency', '1'];
    const said = wordsOf(await run(load, { ...env, PLANT_STORE_URL: receiver.url }), 1);
    assert.match(
      said,
      /\(error 50000\) Retrying …\nThe service answers again\.\n(?:.*\n)*1 row added, 1 failed/,
    );
    assert.equal(rowsAt(receiver), 7);
    assert.match(
      readFileSync(`${file}.errors.csv`, 'utf8'),
      /^Beech,3,The service failed\. \(error 50000\)$/m,
    );
  });
});

test('Ctrl+C and a failure end an import from an idle pipe', async (t) => {
  await withImport(t, async ({ write, env, receiver }) => {
    const pipe = write('pipe', '');
    rmSync(pipe);
    execFileSync('mkfifo', [pipe]);
    for (const from of ['-', pipe]) {
      for (const how of ['SIGINT', 'failure'] as const) {
        receiver.usually(how === 'SIGINT' ? ADDED : { status: 404 });
        const before = receiver.received.length;
        const child = spawn(process.execPath, [PROGRAM, 'plant', 'import', from, '--format', 'ndjson'], {
          env: { PATH: process.env.PATH, ...env, PLANT_STORE_URL: receiver.url },
        });
        const ended = outcomeOf(child);
        const rows = from === '-' ? child.stdin : createWriteStream(pipe);
        rows.on('error', () => {});
        rows.write('{"name":"Alder"}\n');
        await receiver.receive(before + 1);
        if (how === 'SIGINT') child.kill('SIGINT');
        const said = wordsOf(await ended, how === 'SIGINT' ? 130 : 1);
        rows.destroy();
        assert.match(
          said,
          how === 'SIGINT' ? /^Stopped: [01] rows? added/ : /^error: .* but not like a plant store/,
        );
      }
    }
  });
});

for (const verb of ['import', 'export']) {
  test(`Ctrl+C ends an ${verb} whose pipe nobody else opens`, { skip: !existsSync(WAITS) }, async (t) => {
    await withImport(t, async ({ write, env }) => {
      const pipe = write('pipe', '');
      rmSync(pipe);
      execFileSync('mkfifo', [pipe]);
      const child = launch(['plant', verb, pipe, '--format', 'csv'], env);
      t.after(() => child.kill('SIGKILL'));
      const ended = outcomeOf(child);
      while (!waitsForPipe(child.pid)) await pause(20);
      child.kill('SIGINT');
      assert.equal((await ended).signal, 'SIGINT');
    });
  });
}

/** Whether a thread is opening a pipe that nobody else has opened. */
function waitsForPipe(pid = 0): boolean {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.some((id) => {
    try {
      return readFileSync(`/proc/${pid}/task/${id}/wchan`, 'utf8') === 'wait_for_partner';
    } catch {
      // The thread has ended meanwhile.
      return false;
    }
  });
}

test('a file removed during its import is reported', async (t) => {
  await withImport(t, async ({ write, env, receiver }) => {
    const file = write('p.csv', 'name\nAlder\n');
    receiver.usually(({ method }, response) => {
      if (method === 'POST') rmSync(file);
      response.writeHead(201).end();
    });
    const outcome = await run(['plant', 'import', file], { ...env, PLANT_STORE_URL: receiver.url });
    assert.match(wordsOf(outcome, 1), /^error: .*p\.csv changed or disappeared during the import, .*\n$/);
  });
});

test('unwritable output is reported in one line', { skip: !existsSync('/dev/full') }, async () => {
  const child = launch(['openapi'], {}, ['sh', '-c', 'exec "$@" > /dev/full', 'sh']);
  child.stdout.resume();
  const [{ code, stderr }] = await Promise.all([outcomeOf(child), once(child, 'exit')]);
  assert.deepEqual([code, stderr], [1, 'error: Standard output cannot be written: the disk is full.\n']);
});

test('a message that cannot be written ends nothing', { skip: !existsSync('/dev/full') }, async () => {
  const child = launch(['no-such-verb'], {}, ['sh', '-c', 'exec "$@" 2> /dev/full', 'sh']);
  // Not 1, with which the failure to write the message ended it.
  assert.equal((await outcomeOf(child)).code, 2);
});
