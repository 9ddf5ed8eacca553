import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createRowReader } from '../../../src/cli/import/rows.ts';
import { launch, outcomeOf } from '../../../testkit/processes/program.ts';
import { type Import, rowsAt, withImport, wordsOf } from './importing.ts';

/** The import ends at the third plant, when the user has reached the limit; an invalid row comes before it. */
const ROWS = 'name,tag\nAlder,\n,Quercus\nBeech,\nCedar,\n';
const FAILED = 'name,tag,line,error\n,Quercus,3,There is no name.\n';

/** Gives the work an import that stopped, and its unfinished report. */
async function withStopped(
  t: TestContext,
  work: (parts: Import & { file: string; report: string }) => Promise<void>,
): Promise<void> {
  await withImport(
    t,
    async (parts) => {
      const file = parts.write('p.csv', ROWS);
      const said = wordsOf(await parts.load(file, '--concurrency', '1'), 1);
      assert.match(
        said,
        /^Stopped: 2 rows added, 1 failed .*\n.* are in .*p\.csv\.errors\.csv\.part: finish the import first/,
      );
      assert.equal(readFileSync(`${file}.errors.csv.part`, 'utf8'), FAILED);
      await work({ ...parts, file, report: `${file}.errors.csv` });
    },
    { MAX_PLANTS_PER_USER: '2' },
  );
}

test('a resumed import reports its rows again, and keeps a report that someone else created meanwhile', async (t) => {
  await withStopped(t, async ({ load, service, file, report }) => {
    writeFileSync(report, 'mine');
    assert.match(wordsOf(await load(file), 1), /p\.csv\.errors\.csv already exists, with rows that failed/);
    assert.equal(readFileSync(report, 'utf8'), 'mine');
    assert.equal(readFileSync(`${report}.part`, 'utf8'), FAILED);
    rmSync(report);
    appendFileSync(`${report}.part`, ',half a');
    await service.request('DELETE', '/plants/1');
    assert.match(
      wordsOf(await load(file), 1),
      /1 row added, 1 failed .*\n2 rows had .*\n.*correct them there and import that file\.\n$/,
    );
    assert.equal(readFileSync(report, 'utf8'), FAILED);
    assert.deepEqual([existsSync(`${report}.part`), existsSync(`${file}.import`)], [false, false]);
  });
});

test('an import does not overwrite a file that is not its report', async (t) => {
  await withImport(t, async ({ write, load, plants }) => {
    const file = write('p.csv', 'name\n""\n');
    const notes = write('p.csv.errors.csv.part', 'my notes\n');
    assert.match(
      wordsOf(await load(file), 1),
      /part is not a report of failed rows\. Rename or remove it\.\n$/,
    );
    assert.equal(readFileSync(notes, 'utf8'), 'my notes\n');
    assert.equal(await plants(), '[]');
  });
});

test('a stopped import says not to correct rows yet', async (t) => {
  await withImport(t, async ({ write, env, receiver }) => {
    const file = write('p.csv', `name\n""\n${'Alder\n'.repeat(10_000)}`);
    const child = launch(['plant', 'import', file, '--concurrency', '1'], {
      ...env,
      PLANT_STORE_URL: receiver.url,
    });
    const ended = outcomeOf(child);
    receiver.usually((_, response) => {
      if (rowsAt(receiver) === 1) child.kill('SIGINT');
      response.writeHead(201).end();
    });
    const said = wordsOf(await ended, 130);
    assert.match(
      said,
      /^Stopped: \d+ rows? added, 1 failed .*\n.*\.part: finish the import first, then correct them\.\n\d+ rows left/,
    );
  });
});

test('a row that a full disk cut off is reported in full by the next run', async (t) => {
  await withImport(t, async ({ write, load, env }) => {
    const count = 200;
    const file = write(
      'p.csv',
      `name,tag\n${Array.from({ length: count }, (_, i) => `,problem ${i}\n`).join('')}`,
    );
    const small = ['sh', '-c', 'ulimit -f 8; exec "$@"', 'sh'];
    const said = wordsOf(await outcomeOf(launch(['plant', 'import', file], env, small)), 1);
    assert.match(
      said,
      /^Stopped: 0 rows added, \d+ failed .*\n(?:.*\n)*error: Failed rows cannot be written to .*p\.csv\.errors\.csv\.part: the file would exceed .*\n$/,
    );
    assert.match(wordsOf(await load(file), 1), /0 rows added, 200 failed/);
    const [, ...rows] = readFileSync(`${file}.errors.csv`, 'utf8').trimEnd().split('\n');
    assert.deepEqual(
      rows,
      Array.from({ length: count }, (_, i) => `,problem ${i},${i + 2},There is no name.`),
    );
  });
});

test('an import does not overwrite a file that is not its marker', async (t) => {
  await withImport(t, async ({ write, load, plants }) => {
    const file = write('p.csv', 'name\nAlder\n');
    for (const text of ['', 'no line break', 'my notes\nof today\n', '{"sha256":"x"}\n']) {
      const notes = write('p.csv.import', text);
      for (const more of [[], ['--again']]) {
        assert.match(
          wordsOf(await load(file, ...more), 1),
          /p\.csv\.import is not the marker of an import\. Rename or remove it\.\n$/,
        );
        assert.equal(readFileSync(notes, 'utf8'), text);
      }
    }
    assert.equal(await plants(), '[]');
  });
});

test('a link in place of the report is refused before anything is sent, and an empty file is replaced', async (t) => {
  await withImport(t, async ({ write, load, plants }) => {
    const file = write('p.csv', 'name,tag\n,x\nAlder,\n');
    symlinkSync(`${file}.none`, `${file}.link`);
    assert.match(
      wordsOf(await load(file, '--errors', `${file}.link`), 1),
      /is a link, which imports do not follow\. Remove it,/,
    );
    assert.equal(await plants(), '[]');
    const empty = write('empty', '');
    assert.match(wordsOf(await load(file, '--errors', empty), 1), /1 row added, 1 failed/);
    assert.equal(readFileSync(empty, 'utf8'), 'name,tag,line,error\n,x,2,There is no name.\n');
  });
});

test('an import from an open file reports failed rows in the current folder', async (t) => {
  await withImport(t, async ({ write, env, plants }) => {
    const folder = dirname(write('p.csv', 'name,tag\nAlder,\n,x\nBeech,\n'));
    const load = (script: string) =>
      outcomeOf(launch(['plant', 'import', '--format', 'csv'], env, ['bash', '-c', script, folder]));
    for (const script of ['"$@" <(cat p.csv)', 'cat p.csv | "$@" /dev/stdin', '"$@" /dev/stdin < p.csv']) {
      const said = wordsOf(await load(`cd "$0" && ${script}`), 1);
      assert.match(said, /^2 rows added, 1 failed .*\n.* stdin\.errors\.csv: /);
      const report = join(folder, 'stdin.errors.csv');
      assert.equal(readFileSync(report, 'utf8'), 'name,tag,line,error\n,x,3,There is no name.\n');
      rmSync(report);
    }
    assert.equal(JSON.parse(await plants()).length, 6);
  });
});

test('a report that cannot be written is refused before anything is sent', async (t) => {
  await withImport(t, async ({ write, load, plants }) => {
    const file = write('p.csv', 'name\nAlder\n""\n');
    assert.match(
      wordsOf(await load(file, '--errors', `${file}.none/x.csv`), 1),
      /^error: .*x\.csv cannot be written: its folder does not exist\. Pass another file with --errors\.\n$/,
    );
    assert.equal(await plants(), '[]');
  });
});

test('a report leaves nulls empty, and keeps a line that cells cannot show', async (t) => {
  await withImport(t, async ({ write, load, plants }) => {
    const file = write(
      'p.ndjson',
      '{"id":1,"name":"Alder","tag":null}\n{"name":null}\n{"name":"Fir",}\n["Oak"]\n' +
        '{"name":"Ash","colour":"red"}\n{"name":5}\n{"name":"Elm","tag":{"a":[1]}}\n{"id":"8","name":"Yew"}\n',
    );
    assert.match(wordsOf(await load(file), 1), /0 rows added, 8 failed/);
    const report = `${file}.errors.csv`;
    const lines = readFileSync(report, 'utf8').trimEnd().split('\n');
    assert.match(lines[1] ?? '', /^1,Alder,,1,/);
    assert.match(lines[2] ?? '', /^,,,2,/);
    assert.match(lines[3] ?? '', /^"\{""name"":""Fir"",\}",3,/);
    assert.match(lines[4] ?? '', /^"\[""Oak""\]",4,/);
    assert.match(lines[5] ?? '', /^"\{""name"":""Ash"",""colour"":""red""\}",5,/);
    assert.match(lines[6] ?? '', /^"\{""name"":5\}",6,/);
    assert.match(lines[7] ?? '', /^"\{""name"":""Elm"",""tag"":\{""a"":\[1\]\}\}",7,/);
    assert.match(lines[8] ?? '', /^"\{""id"":""8"",""name"":""Yew""\}",8,/);
    // Importing the uncorrected report adds only the rows that are valid now.
    assert.match(wordsOf(await load(report), 1), /^1 row added, 7 failed/);
    assert.equal(await plants(), '[{"id":1,"name":"Alder"}]');
  });
});

for (const [text, why] of [
  ['{"id":7,"name":"Fig","tag":""}', 'an empty cell would drop the tag'],
  ['{"id":7,"name":"Fig \\ud800"}', 'no cell can hold half a surrogate pair'],
] as const) {
  test(`the row ${text} is reported as it is: ${why}`, () => {
    const reader = createRowReader('ndjson');
    const rows = [...reader.push(`${text}\n`), ...reader.end()];
    assert.deepEqual(
      rows.map((row) => row.cells()),
      [[text]],
    );
  });
}
