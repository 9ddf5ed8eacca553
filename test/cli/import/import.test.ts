import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { PROGRAM } from '../../../testkit/processes/executable.ts';
import { run, withFolder } from '../../../testkit/processes/program.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { noTerminal, onTerminal } from '../on-terminal.ts';
import { room, stopped, withImport, wordsOf } from './importing.ts';

/** The same three plants in several forms. */
const forms: Readonly<Record<string, string>> = {
  'a.csv':
    '\uFEFFtag,name,id\r\n"Alnus, Mill.",Alder,9007199254740993\r\n,"the ""red"" one",\r\nx,\u{1f331},-5\r\n',
  'german.csv':
    '\uFEFFName;TAG;Id\r\nAlder;Alnus, Mill.;9007199254740993\r\n"the ""red"" one";;\r\n\u{1f331};x;-5\r\n',
  'a.tsv': 'name\ttag\tid\nAlder\tAlnus, Mill.\t9007199254740993\n"the ""red"" one"\t\t\n\u{1f331}\tx\t-5\n',
  'a.ndjson':
    '{"id":9007199254740993,"name":"Alder","tag":"Alnus, Mill."}\n\n{"name":"the \\"red\\" one"}\n{"id":-5.0,"name":"\\ud83c\\udf31","tag":"x"}',
  'a.json':
    '[{"id":9007199254740993,"name":"Alder","tag":"Alnus, Mill."},\n {"name":"the \\"red\\" one"}, {"id":-5,"name":"\u{1f331}","tag":"x"}]',
};

for (const [name, text] of Object.entries(forms)) {
  test(`the plants of ${name} are added with their ids and names, and no other files remain`, async (t) => {
    await withImport(t, async ({ write, load, plants, service }) => {
      const file = write(name, text);
      assert.match(wordsOf(await load(file), 0), /^3 rows added \(\d+\.\d s, \d+ rows\/s\)\.\n$/);
      const made = await plants();
      assert.match(made, /"id":9007199254740993,"name":"Alder","tag":"Alnus, Mill\."/);
      assert.match(made, /"id":-5,"name":"\u{1f331}","tag":"x"/u);
      const others = (await service.request('GET', '/plants')).text;
      assert.ok(others.includes('{"name":"the \\"red\\" one"}'), others);
      assert.deepEqual([existsSync(`${file}.import`), existsSync(`${file}.errors.csv`)], [false, false]);
    });
  });
}

test('failed rows go to a report that can be corrected and imported', async (t) => {
  await withImport(t, async ({ write, load, plants, plant }) => {
    await plant('{"id":1,"name":"there before"}');
    const file = write(
      'p.csv',
      'id,name,tag\n1,Alder,\n2,"Be\nech",x\n3,,Quercus\n4,5" pot,\n5,a,b,c\n6,Fir,\n',
    );
    assert.equal(
      wordsOf(await load(file), 1).replace(/\(.*?\)/, '()'),
      `2 rows added, 4 failed ().\nThe failed rows are in ${file}.errors.csv: correct them there and import that file.\n`,
    );
    const report = `${file}.errors.csv`;
    const lines = readFileSync(report, 'utf8').trim().split('\n');
    assert.equal(lines[0], 'id,name,tag,line,error');
    // Answers may arrive in any order.
    assert.deepEqual(lines.slice(1).toSorted(), [
      '"4,5"" pot,",6,"The double quotes are wrong. Put the whole value in double quotes, and write each double quote in it twice."',
      '1,Alder,,2,You already have a plant with the id 1; nothing was changed. (error 40900)',
      '3,,Quercus,5,There is no name.',
      '5,a,b,c,7,"The row has 4 cells, but the first line names 3 columns. Put a value with a delimiter in double quotes."',
    ]);

    const again = await load(report);
    assert.match(wordsOf(again, 1), /^0 rows added, 4 failed/);
    assert.equal(
      readFileSync(`${report}.errors.csv`, 'utf8').trim().split('\n')[0],
      'id,name,tag,line,error',
    );

    const mended = write(
      'mended.csv',
      'id,name,tag,line,error\n11,Alder,,2,taken\n3,Oak,Quercus,5,There is no name.\n',
    );
    assert.match(wordsOf(await load(mended), 0), /^2 rows added/);
    const made: unknown[] = JSON.parse(await plants());
    assert.deepEqual(made.slice(2), [
      { id: 3, name: 'Oak', tag: 'Quercus' },
      { id: 6, name: 'Fir' },
      { id: 11, name: 'Alder' },
    ]);
  });
});

test('the report of a file with semicolons has semicolons, too', async (t) => {
  await withImport(t, async ({ write, load }) => {
    const file = write('p.csv', 'ID;Name\n1;\n');
    assert.match(wordsOf(await load(file), 1), /^0 rows added, 1 failed/);
    const report = readFileSync(`${file}.errors.csv`, 'utf8');
    assert.equal(report, 'id;name;line;error\n1;;2;There is no name.\n');
    const mended = write('mended.csv', report.replace('1;;', '1;Alder;'));
    assert.match(wordsOf(await load(mended), 0), /^1 row added/);
  });
});

test('an existing report is not overwritten, since someone may be correcting it', async (t) => {
  await withImport(t, async ({ write, load, plants }) => {
    const file = write('p.csv', 'name\nAlder\n');
    write('p.csv.errors.csv', 'mine');
    assert.match(wordsOf(await load(file), 1), /p\.csv\.errors\.csv already exists, with rows that failed/);
    assert.equal(await plants(), '[]');
    assert.match(wordsOf(await load(file, '--errors', `${file}.other`), 0), /^1 row added/);
  });
});

test('a file imported twice within a day is added once, except with --again', async (t) => {
  await withImport(t, async ({ write, load, service }) => {
    const file = write('p.csv', 'name\nAlder\nBeech\n');
    const count = async () => JSON.parse((await service.request('GET', '/plants')).text).length;
    wordsOf(await load(file), 0);
    assert.match(
      wordsOf(await load(file), 0),
      /^0 rows added .*\n2 rows had already been added by an earlier import of this file\. .*--again\n$/,
    );
    assert.match(wordsOf(await load(file, '--quiet'), 0), /^0 rows added .*\n2 rows had already been added/);
    assert.equal(await count(), 2);
    assert.match(wordsOf(await load(file, '--again'), 0), /^2 rows added/);
    assert.equal(await count(), 4);
  });
});

test('the next import of the same file retries a refused row', async (t) => {
  await withImport(t, async ({ write, load, plant, service }) => {
    await plant('{"id":7,"name":"in the way"}');
    const file = write('p.csv', 'id,name\n7,Alder\n');
    for (let i = 0; i < 3; i++) {
      assert.match(wordsOf(await load(file, '--errors', `${file}.${i}`), 1), /^0 rows added, 1 failed/);
    }
    succeeded(await service.request('DELETE', '/plants/7'), 204);
    assert.match(wordsOf(await load(file, '--errors', `${file}.last`), 0), /^1 row added/);
  });
});

test('rows from a pipe are added, but cannot be resumed', async (t) => {
  await withImport(t, async ({ write, env, plants }) => {
    const file = write('p', '{"name":"Alder"}\n{"name":"Beech"}\n');
    const importer = [process.execPath, PROGRAM, 'plant', 'import', '-', '--format', 'ndjson'].join(' ');
    const { stderr } = await promisify(execFile)('sh', ['-c', `cat ${file} | ${importer}`], { env });
    assert.match(stderr, /^2 rows added/);
    assert.equal(existsSync('-.import'), false);
    const names = [...(await plants()).matchAll(/"name":"(\w+)"/g)].map(([, name]) => name);
    assert.deepEqual(names.toSorted(), ['Alder', 'Beech']);
  });
});

test('an unwritable marker is reported before anything is sent', async (t) => {
  await withImport(t, async ({ write, load, plants }) => {
    // The name is too long for the marker's draft.
    const file = write(`${'p'.repeat(240)}.csv`, 'name\nAlder\n');
    const words = wordsOf(await load(file, '--errors', write('errors', '')), 1);
    assert.match(words, /\.csv\.import, cannot be written: ENAMETOOLONG\. Copy the file/);
    assert.equal(await plants(), '[]');
  });
});

test('an interrupted import adds the rest when it runs again', async (t) => {
  await withImport(
    t,
    async (parts) => {
      const { load, service, plants } = parts;
      const file = await stopped(parts);
      for (const id of [1, 2, 3]) succeeded(await service.request('DELETE', `/plants/${id}`), 204);
      const words = wordsOf(await load(file), 0);
      assert.match(
        words,
        /^Continuing the import that started at .*\.\n3 rows added .*\n3 rows had already been added/,
      );
      const names = [...(await plants()).matchAll(/"name":"(.)"/g)].map(([, name]) => name);
      assert.deepEqual(names.toSorted(), ['D', 'E', 'F']);
      assert.equal(existsSync(`${file}.import`), false);
    },
    room,
  );
});

test('an import does not continue with another service or user, but does with another token of the user', async (t) => {
  await withImport(
    t,
    async (parts) => {
      const { load, service, env } = parts;
      const file = await stopped(parts);
      const other = service.url.replace('127.0.0.1', 'localhost');
      assert.match(wordsOf(await load(file, '--url', other), 1), /It went to http:\/\/127\.0\.0\.1:\d+\./);
      const bob = await service.tokenFor('bob');
      const asBob = await run(['plant', 'import', file], { ...env, PLANT_STORE_TOKEN: bob });
      assert.match(
        wordsOf(asBob, 1),
        /It was for the user "admin"\. Continue it with a token of that user, /,
      );
      assert.equal((await service.request('GET', '/plants', { token: bob })).text, '[]');
      for (const id of [1, 2, 3]) succeeded(await service.request('DELETE', `/plants/${id}`), 204);
      const PLANT_STORE_TOKEN = await service.tokenFor('admin');
      const words = wordsOf(await run(['plant', 'import', file], { ...env, PLANT_STORE_TOKEN }), 0);
      assert.match(words, /3 rows added .*\n3 rows had already been added/);
    },
    room,
  );
});

test('an import does not continue with a changed file', async (t) => {
  await withImport(
    t,
    async (parts) => {
      const file = await stopped(parts);
      const text = readFileSync(file, 'utf8');
      parts.write('p.csv', text.replace('F', 'G'));
      assert.match(
        wordsOf(await parts.load(file), 1),
        /The file has changed since\. Restore the old content, or/,
      );
      parts.write('p.csv', text);
      assert.match(wordsOf(await parts.load(file), 1), /^Continuing the import/);
    },
    room,
  );
});

/** Makes the marker of an import say that it started this many hours ago. */
function backdate(file: string, hours: number): void {
  const marker = JSON.parse(readFileSync(`${file}.import`, 'utf8'));
  const begunAt = new Date(Date.now() - hours * 3_600_000).toISOString();
  writeFileSync(`${file}.import`, `${JSON.stringify({ ...marker, begunAt })}\n`);
}

test('an import of rows without ids does not continue after 24 hours, unless with --again', async (t) => {
  await withImport(
    t,
    async (parts) => {
      const { load, service, plants } = parts;
      const file = await stopped(parts);
      for (const id of [1, 2, 3]) succeeded(await service.request('DELETE', `/plants/${id}`), 204);
      backdate(file, 24);
      assert.match(
        wordsOf(await load(file), 1),
        /^error: The import started more than 24 hours ago, .*--again\.\n$/,
      );
      assert.equal(await plants(), '[]');
      // The user's limit stops it after three of the six rows, added once more.
      assert.match(wordsOf(await load(file, '--again'), 1), /^Stopped: 3 rows added/);
      for (const id of [4, 5, 6]) succeeded(await service.request('DELETE', `/plants/${id}`), 204);
      assert.match(
        wordsOf(await load(file), 0),
        /^Continuing .*\n3 rows added .*\n3 rows had already been added/,
      );
    },
    room,
  );
});

test('an import of rows that all have ids continues even after 24 hours', async (t) => {
  await withImport(
    t,
    async ({ write, load, service }) => {
      const file = write('p.csv', 'id,name\n11,A\n12,B\n13,C\n14,D\n');
      wordsOf(await load(file, '--concurrency', '1'), 1);
      succeeded(await service.request('DELETE', '/plants/11'), 204);
      backdate(file, 25);
      assert.match(
        wordsOf(await load(file), 0),
        /^Continuing .*\n1 row added .*\n3 rows had already been added/,
      );
    },
    room,
  );
});

const unreadable: readonly { name: string; text: string | Buffer; says: RegExp }[] = [
  {
    name: 'latin.csv',
    text: Buffer.from('name\nAhorn\nK\xfcmmel\n', 'latin1'),
    says: /is not UTF-8 text\. Save it as/,
  },
  { name: 'empty.csv', text: '', says: /The file is empty; its first line must name the columns/ },
  { name: 'none.csv', text: 'id,tag\n1,x\n', says: /There is no column "name"/ },
  { name: 'bars.csv', text: 'id|name\n1|x\n', says: /Column 1 is named "id\|name"/ },
  {
    name: 'long.csv',
    text: `name\n${'a'.repeat(100_000)}`,
    says: /Line 2 is longer than the 65536 characters/,
  },
  {
    name: 'cut.json',
    text: '[{"name":"Alder"}',
    says: /The array is not closed: the file ends in line 1/,
  },
  { name: 'lines.json', text: '{"name":"Alder"}\n', says: /not a JSON array\. .*--format ndjson/ },
];
test('an unreadable file is refused before anything is sent', async (t) => {
  await withImport(t, async ({ write, load, plants }) => {
    for (const { name, text, says } of unreadable) {
      assert.match(wordsOf(await load(write(name, text)), 1), says);
    }
    assert.match(
      wordsOf(await load('missing.csv'), 1),
      /missing\.csv cannot be read: no such file or folder\.\n$/,
    );
    assert.equal(await plants(), '[]');
  });
});

test('--dry-run shows what is wrong, sends nothing and needs no service', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'p.ndjson');
    writeFileSync(file, '{"name":"Alder"}\n{"name":"Alder",}\n{"name":""}\n');
    const { code, stdout, stderr } = await run(['plant', 'import', file, '--dry-run', '--json']);
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(stdout), { rows: 3, failed: 2 });
    assert.match(
      stderr,
      /^line 2: The row is not JSON: .*\nline 3: There is no name\.\n3 rows read, 2 invalid\. Nothing was sent\.\n$/,
    );
  });
});

test('--quiet prints nothing on success, and --json prints the result', async (t) => {
  await withImport(t, async ({ write, load }) => {
    const { code, stdout, stderr } = await load(write('p.csv', 'name\nAlder\n'), '--quiet', '--json');
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    const { seconds, ...summary } = JSON.parse(stdout);
    assert.equal(typeof seconds, 'number');
    assert.deepEqual(summary, {
      complete: true,
      added: 1,
      addedBefore: 0,
      failed: 0,
      left: 0,
      errors: null,
    });
  });
});

test('Retry-After is respected', async (t) => {
  await withImport(
    t,
    async ({ write, load }) => {
      const file = write('p.csv', `name\n${'Alder\n'.repeat(30)}`);
      const words = wordsOf(await load(file), 0);
      assert.match(words, /\(error 42900\) Retrying …\n(?:.*\n)*30 rows added/);
    },
    { RATE_LIMIT: '20/1s' },
  );
});

test('an unreachable service ends the import soon', async (t) => {
  await withImport(t, async ({ write, load }) => {
    const file = write('p.csv', 'name\nAlder\n');
    const words = wordsOf(await load(file, '--url', 'http://127.0.0.1:9', '--patience', '1s'), 1);
    assert.match(
      words,
      /^Nothing answers at .* Retrying …\nerror: Nothing answers at .* Gave up after 1s\.\n$/,
    );
    assert.equal(existsSync(`${file}.import`), false);
    assert.equal(existsSync(`${file}.errors.csv`), false);
  });
});

test('a token without the write scope ends the import', async (t) => {
  await withImport(t, async ({ write, service, env }) => {
    const file = write('p.csv', 'name\nAlder\n');
    const token = await service.tokenFor('ann', { scopes: ['plants:read'] });
    const outcome = await run(['plant', 'import', file], { ...env, PLANT_STORE_TOKEN: token });
    assert.match(wordsOf(outcome, 1), /^error: .*plants:write.*\(error 40300\)/);
    failed(await service.request('DELETE', '/plants/1'), 40401);
  });
});

test('a file name without a known format needs --format', async () => {
  const { code, stderr } = await run(['plant', 'import', '-'], { PLANT_STORE_TOKEN: 'x' });
  assert.equal(code, 2);
  assert.equal(stderr, 'error: The format of standard input is unknown. Pass --format: csv, ndjson, json.\n');
});

test('a terminal shows a bar', { skip: noTerminal() ?? false }, async (t) => {
  await withImport(t, async ({ write, env }) => {
    const file = write('p.csv', `name\n${'Alder\n'.repeat(4_000)}`);
    const shown = await onTerminal(['plant', 'import', file], { env, at: 'never', keys: '' });
    assert.match(shown, /\[#*-+\] +\d+ % {2}\d+ of 4000 rows, \d+ rows\/s/);
    assert.match(shown, /4000 rows added/);
  });
});
