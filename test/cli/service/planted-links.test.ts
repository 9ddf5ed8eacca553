import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { lchown, mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { launch, outcomeOf, run, withFolder, withStoreFolder } from '../../../testkit/processes/program.ts';
import { failureOf, startRemote } from '../../../testkit/processes/remote.ts';
import { failToServe } from '../../../testkit/processes/server.ts';
import { room, withImport, wordsOf } from '../import/importing.ts';
import { noTerminal, shownOnTerminal } from '../on-terminal.ts';

/** What an attacker wants this user to overwrite. */
const VICTIM = 'precious';

test('an import follows no link planted where it writes its marker', async (t) => {
  await withImport(t, async ({ write, load, plants }) => {
    const file = write('p.csv', 'name\nAlder\n');
    for (const victim of [write('victim', VICTIM), write('empty', ''), `${file}.none`]) {
      symlinkSync(victim, `${file}.import`);
      for (const more of [[], ['--again']]) {
        assert.match(
          wordsOf(await load(file, ...more), 1),
          /p\.csv\.import cannot be read: it is a link, which is not followed\./,
        );
      }
      rmSync(`${file}.import`);
    }
    assert.equal(await plants(), '[]');
    assert.equal(readFileSync(join(file, '../victim'), 'utf8'), VICTIM);
    assert.deepEqual(readdirSync(join(file, '..')).toSorted(), ['empty', 'p.csv', 'victim']);
  });
});

test('an import follows no link planted where it writes failed rows', async (t) => {
  await withImport(t, async ({ write, env }) => {
    const [victim, file] = [write('victim', ''), write('p.csv', '')];
    rmSync(file);
    execFileSync('mkfifo', [file]);
    const ended = outcomeOf(launch(['plant', 'import', file, '--quiet'], env));
    // Opens once the import reads, which is after it checked the report's path.
    const rows = await open(file, 'w');
    symlinkSync(victim, `${file}.errors.csv`);
    await rows.write('name,tag\nAlder,\n,x\n');
    await rows.close();
    const { code, stderr } = await ended;
    assert.equal(code, 1);
    assert.match(stderr, /is a link, which imports do not follow\./);
    assert.equal(readFileSync(victim, 'utf8'), '');
  });
});

test('a resumed import writes to no file that a link points to', async (t) => {
  await withImport(
    t,
    async (parts) => {
      const file = parts.write('p.csv', 'name,tag\n,x\nA,\nB,\nC,\nD,\n');
      wordsOf(await parts.load(file, '--concurrency', '1'), 1);
      const draft = `${file}.errors.csv.part`;
      const text = readFileSync(draft, 'utf8');
      const victim = parts.write('victim', text);
      rmSync(draft);
      symlinkSync(victim, draft);
      assert.match(
        wordsOf(await parts.load(file), 1),
        /\.part cannot be read: it is a link, which is not followed\./,
      );
      assert.equal(readFileSync(victim, 'utf8'), text);
    },
    room,
  );
});

const NOBODY = 65_534;
const noRoot = process.getuid?.() === 0 ? false : 'only root can give links away';

test("another user's link is not followed by export, backup and login", {
  skip: noRoot,
}, async (t) => {
  const { env } = await startRemote(t);
  await withFolder(async (folder) => {
    const [victim, link] = [join(folder, 'victim.csv'), join(folder, 'link.csv')];
    writeFileSync(victim, VICTIM);
    symlinkSync(victim, link);
    await lchown(link, NOBODY, NOBODY);
    const says = /is a link created by another user\. Pass the file itself\.$/;
    assert.match(failureOf(await run(['plant', 'export', link], env)), says);
    await withStoreFolder(async (data) => {
      assert.match(failureOf(await run(['backup', link, '--force', '--data-dir', data])), says);
    });
    const place = join(folder, '.config', 'plant-store');
    await mkdir(place, { recursive: true });
    writeFileSync(victim, '{"profiles":{}}');
    symlinkSync(victim, join(place, 'config.json'));
    await lchown(join(place, 'config.json'), NOBODY, NOBODY);
    const { PLANT_STORE_URL: url = '', PLANT_STORE_TOKEN: token = '' } = env;
    const through = ['sh', '-c', 'printf %s "$INPUT" | "$@"', 'sh'];
    const login = launch(['login', '--token-stdin', '--url', url], { HOME: folder, INPUT: token }, through);
    assert.match(failureOf(await outcomeOf(login)), says);
    assert.equal(readFileSync(victim, 'utf8'), '{"profiles":{}}');
    await lchown(link, 0, 0);
    assert.equal((await run(['plant', 'export', link, '--force'], env)).code, 0);
  });
});

test('a restore as root changes the owner of no file that a link points to', { skip: noRoot }, async () => {
  await withFolder(async (folder) => {
    const [data, victim, file] = ['data', 'victim', 'b'].map((name) => join(folder, name));
    assert.ok(data && victim && file);
    await withStoreFolder(async (made) => {
      assert.equal((await run(['backup', file, '--data-dir', made])).code, 0);
    });
    writeFileSync(victim, '');
    await mkdir(data);
    await lchown(data, NOBODY, NOBODY);
    for (const name of ['serving.lock', 'plant-store.db.restoring']) symlinkSync(victim, join(data, name));
    assert.equal((await run(['restore', file, '--data-dir', data])).code, 0);
    assert.equal(lstatSync(victim).uid, 0);
    assert.equal(readFileSync(victim, 'utf8'), '');
  });
});

test('code is not run from a folder in which another user may have planted some', async () => {
  await withFolder(async (folder) => {
    const own = `plant-store-code-${process.geteuid?.()}`;
    const code = join(folder, own);
    const env = { TMPDIR: folder, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };
    const looksForCode = async () => {
      const { code, stdout, stderr } = await outcomeOf(launch(['version'], env));
      assert.deepEqual([code, /^\d+\.\d+\.\d+$/m.test(stdout)], [0, true]);
      return stderr.includes('[compile cache] reading cache from');
    };
    assert.equal(await looksForCode(), true);
    // Not in Node's own folder, which belongs to whoever creates it first.
    assert.deepEqual(readdirSync(folder), [own]);
    assert.equal(lstatSync(code).mode & 0o777, 0o700);
    chmodSync(code, 0o777);
    assert.equal(await looksForCode(), false);
    chmodSync(code, 0o700);
    if (noRoot === false) {
      await lchown(code, NOBODY, NOBODY);
      assert.equal(await looksForCode(), false);
      await lchown(code, 0, 0);
    }
    await rename(code, `${code}-elsewhere`);
    symlinkSync(`${code}-elsewhere`, code);
    assert.equal(await looksForCode(), false);
  });
});

test('a server refuses a lock that is a link to nowhere', async () => {
  await withFolder(async (folder) => {
    symlinkSync(join(folder, 'nowhere'), join(folder, 'serving.lock'));
    const { code, stderr } = await failToServe(folder);
    assert.equal(code, 1);
    assert.match(stderr, /serving\.lock/);
    assert.deepEqual(readdirSync(folder), ['serving.lock']);
  });
});

test("an export to a terminal's path is as harmless as one to standard output", {
  skip: noTerminal() ?? false,
}, async (t) => {
  const { env, plant } = await startRemote(t);
  await plant(JSON.stringify({ name: 'a\u001b[35m\u009b\nforged' }));
  for (const format of ['csv', 'ndjson']) {
    const shown = await shownOnTerminal(['plant', 'export', '/dev/tty', '--format', format, '-q'], env);
    assert.match(shown, format === 'csv' ? /\\u\{1b\}/ : /\\u001b/);
    assert.doesNotMatch(shown.replaceAll('\r\n', '\n'), /^forged|[^\P{Cc}\n]/mu);
  }
});
