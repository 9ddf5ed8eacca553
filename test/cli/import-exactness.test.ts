import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../harness/free-port.ts';
import { launch, type Outcome, outcomeOf, untilGreeted, withFolder } from './program.ts';

const TOKEN = 'a-bootstrap-token-that-only-tests-know';

/** Of so many plants there is one row more, without a name. */
const PLANTS_PER_PROBLEM = 100;

/** A file of so many plants without ids, each with a name of its own, and of rows with a problem among them. */
function writeFile(folder: string, count: number): string {
  const file = join(folder, 'plants.csv');
  const rows = Array.from({ length: count }, (_, i) => {
    const problem = i % PLANTS_PER_PROBLEM === 0 ? `,problem ${i}\n` : '';
    return `${problem}Plant ${i},"a, b"\n`;
  });
  writeFileSync(file, `name,tag\n${rows.join('')}`);
  return file;
}

/** The report has each row with a problem, once. */
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

/** How many rows the journal of an import says are done; 0 while there is none. */
function doneRows(file: string): number {
  if (!existsSync(`${file}.import`)) return 0;
  const entry = readFileSync(`${file}.import`, 'utf8').split('\n').at(-2) ?? '';
  return Number(/"upTo":(\d+)/.exec(entry)?.[1] ?? 0);
}

async function untilDone(file: string, rows: number, ended: () => boolean): Promise<void> {
  while (!ended() && doneRows(file) < rows) await sleep(2);
}

/** A service that can be killed and comes back where it was. */
async function startKillable(t: TestContext, folder: string) {
  const port = String(await freePort());
  const env = { BOOTSTRAP_TOKEN: TOKEN, DATA_DIR: join(folder, 'data') };

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
    async killAndRestart() {
      child.kill('SIGKILL');
      await ended;
      ({ child, ended } = await start());
    },
  };
}

/** @param args beyond the file */
function startImport(url: string, file: string, ...args: string[]) {
  const env = { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN };
  const child = launch(['plant', 'import', file, ...args], env);
  let hasEnded = false;
  const ended = outcomeOf(child).then((outcome) => {
    hasEnded = true;
    return outcome;
  });
  return {
    /** Sends the signal when so many rows are done, and gives how it ended. */
    async signalAt(rows: number, signal: NodeJS.Signals): Promise<Outcome> {
      await untilDone(file, rows, () => hasEnded);
      child.kill(signal);
      return ended;
    },
    hasEnded: () => hasEnded,
    ended,
  };
}

async function assertExact(url: string, count: number): Promise<void> {
  const answer = await fetch(`${url}/plants`, { headers: { authorization: `Bearer ${TOKEN}` } });
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
      const importing = startImport(service.url, file);
      const from = doneRows(file);
      const outcome = importing.signalAt(from + randomInt(1, 2_500), 'SIGKILL');
      if (kill % 2 === 1) {
        await untilDone(file, from + randomInt(1, 2_500), importing.hasEnded);
        await service.killAndRestart();
      }
      await outcome;
    }
    const last = startImport(service.url, file);
    await untilDone(file, doneRows(file) + 1_000, last.hasEnded);
    await service.killAndRestart();
    const { code, stderr } = await last.ended;
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^Going on with the import/);
    assert.match(stderr, /20000 rows added, 200 failed/);
    assertReported(file, 20_000);
    await assertExact(service.url, 20_000);
    assert.equal(existsSync(`${file}.import`), false);
  });
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} ends an import after what is under way, and the same command goes on there`, async (t) => {
    await withFolder(async (folder) => {
      const rows = 4_000;
      const file = writeFile(folder, rows);
      const { url } = await startKillable(t, folder);
      const { code, stderr } = await startImport(url, file, '--concurrency', '8').signalAt(500, signal);
      assert.equal(code, 1, stderr);
      const said =
        /^Stopped: (\d+) rows added, (\d+) failed \(.*\)\.\n.*\n(\d+) rows to go: the same command goes on/;
      const [added = 0, failed = 0, left = 0] = said.exec(stderr)?.slice(1).map(Number) ?? [];
      const all = rows + rows / PLANTS_PER_PROBLEM;
      assert.equal(added + failed + left, all, stderr);
      const rest = (await startImport(url, file).ended).stderr;
      assert.ok(rest.includes(`${added + failed} of ${all} rows are done.`), rest);
      assert.ok(rest.includes(`${rows} rows added, ${rows / PLANTS_PER_PROBLEM} failed`), rest);
      assertReported(file, rows);
      await assertExact(url, rows);
    });
  });
}
