import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { storePath } from '../../../src/config/config.ts';
import {
  launch,
  type Outcome,
  outcomeOf,
  untilGreeted,
  withFolder,
} from '../../../testkit/processes/program.ts';
import { seededRandom, testSeed } from '../../../testkit/random/seeded.ts';
import { freePort } from '../../../testkit/sockets/free-port.ts';

/** When it kills. */
const random = seededRandom(testSeed);

const TOKEN = 'a-bootstrap-token-that-only-tests-know';
const headers = { authorization: `Bearer ${TOKEN}` };

/** How many plants there are for each row without a name. */
const PLANTS_PER_PROBLEM = 100;

/** A file of this many plants without ids, each with its own name, and some invalid rows. */
function writeFile(folder: string, count: number): string {
  const file = join(folder, 'plants.csv');
  const rows = Array.from({ length: count }, (_, i) => {
    const problem = i % PLANTS_PER_PROBLEM === 0 ? `,problem ${i}\n` : '';
    return `${problem}Plant ${i},"a, b"\n`;
  });
  writeFileSync(file, `name,tag\n${rows.join('')}`);
  return file;
}

/** Asserts that the report has each invalid row once. */
function assertReported(file: string, count: number): void {
  const [head, ...rows] = readFileSync(`${file}.errors.csv`, 'utf8').trim().split('\n');
  assert.equal(head, 'name,tag,line,error');
  const problems = rows.map((row) => /^,(problem \d+),\d+,There is no name\.$/.exec(row)?.[1]);
  const expected = Array.from(
    { length: count / PLANTS_PER_PROBLEM },
    (_, i) => `problem ${i * PLANTS_PER_PROBLEM}`,
  );
  assert.deepEqual(problems, expected);
}

/** How many rows the store has. Asking the service for them every moment would keep both busy. */
function addedRows(path: string): number {
  // A killed service leaves a log that the next to open the store recovers, while others wait.
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    return Number(db.prepare('SELECT count(*) AS rows FROM plants').get()?.rows);
  } finally {
    db.close();
  }
}

async function untilAdded(path: string, rows: number, ended: () => boolean): Promise<void> {
  while (!ended() && addedRows(path) < rows) await sleep(10);
}

/** A service that can be killed and restarted on the same port and data. */
async function startKillable(t: TestContext, folder: string) {
  const port = String(await freePort());
  const dataDir = join(folder, 'data');
  const env = { BOOTSTRAP_TOKEN: TOKEN, DATA_DIR: dataDir };

  async function start() {
    const child = launch(['serve', '--port', port], env);
    const ended = outcomeOf(child);
    await untilGreeted(child, ended);
    return { child, ended };
  }

  let { child, ended } = await start();
  t.after(() => {
    child.kill('SIGTERM');
    return ended;
  });
  return {
    url: `http://127.0.0.1:${port}`,
    path: storePath(dataDir),
    async killAndRestart() {
      child.kill('SIGKILL');
      await ended;
      ({ child, ended } = await start());
    },
  };
}

/** @param args after the file */
function startImport({ url, path }: { url: string; path: string }, file: string, ...args: string[]) {
  const env = { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN };
  const child = launch(['plant', 'import', file, ...args], env);
  let hasEnded = false;
  const ended = outcomeOf(child).then((outcome) => {
    hasEnded = true;
    return outcome;
  });
  return {
    /** Sends the signal once the store has this many rows; resolves with how the import ended. */
    async signalAt(rows: number, signal: NodeJS.Signals): Promise<Outcome> {
      await untilAdded(path, rows, () => hasEnded);
      child.kill(signal);
      return ended;
    },
    hasEnded: () => hasEnded,
    ended,
  };
}

async function assertExact(url: string, count: number): Promise<void> {
  const answer = await fetch(`${url}/plants`, { headers });
  const plants = (await answer.json()) as { name: string; tag: string }[];
  assert.equal(plants.length, count);
  assert.equal(new Set(plants.map(({ name }) => name)).size, count);
  assert.ok(plants.every(({ name, tag }) => /^Plant \d+$/.test(name) && tag === 'a, b'));
}

test('20,000 rows without ids are added exactly once while import and service are killed again and again', async (t) => {
  await withFolder(async (folder) => {
    const file = writeFile(folder, 20_000);
    const service = await startKillable(t, folder);
    for (let kill = 0; kill < 5; kill++) {
      const importing = startImport(service, file);
      const from = addedRows(service.path);
      const outcome = importing.signalAt(from + 1 + Math.trunc(random() * 2_500), 'SIGKILL');
      // Awaited below: a rejection before, unhandled, would end the test while it restarts the service.
      outcome.catch(() => {});
      if (kill % 2 === 1) {
        await untilAdded(service.path, from + 1 + Math.trunc(random() * 2_500), importing.hasEnded);
        await service.killAndRestart();
      }
      await outcome;
    }
    const last = startImport(service, file);
    await untilAdded(service.path, addedRows(service.path) + 1_000, last.hasEnded);
    await service.killAndRestart();
    const { code, stderr } = await last.ended;
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^Continuing the import that started at /);
    const said = /^(\d+) rows added, 200 failed .*\n(\d+) rows had already been added/m.exec(stderr);
    assert.equal(Number(said?.[1]) + Number(said?.[2]), 20_000, stderr);
    assertReported(file, 20_000);
    await assertExact(service.url, 20_000);
    assert.equal(existsSync(`${file}.import`), false);
  });
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} ends an import after its pending requests, and the same command adds the rest`, async (t) => {
    await withFolder(async (folder) => {
      const rows = 4_000;
      const file = writeFile(folder, rows);
      const service = await startKillable(t, folder);
      const { code, stderr } = await startImport(service, file, '--concurrency', '8').signalAt(500, signal);
      assert.equal(code, signal === 'SIGINT' ? 130 : 143, stderr);
      const said =
        /^Stopped: (\d+) rows added, (\d+) failed \(.*\)\.\n.*\n(\d+) rows left\. To continue, run the same command/;
      const [added = 0, failed = 0, left = 0] = said.exec(stderr)?.slice(1).map(Number) ?? [];
      assert.equal(added + failed + left, rows + rows / PLANTS_PER_PROBLEM, stderr);
      const rest = (await startImport(service, file).ended).stderr;
      assert.match(rest, new RegExp(`^${rows - added} rows added, ${rows / PLANTS_PER_PROBLEM} failed`, 'm'));
      assert.match(rest, new RegExp(`^${added} rows had already been added`, 'm'));
      assertReported(file, rows);
      await assertExact(service.url, rows);
    });
  });
}
