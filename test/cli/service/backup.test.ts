import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { storePath } from '../../../src/config/config.ts';
import { addPlants, plantsIn } from '../../../testkit/processes/backed-up-store.ts';
import { WITHOUT_CAPABILITIES, whyNoPermissions } from '../../../testkit/processes/permissions.ts';
import {
  launch,
  type Outcome,
  outcomeOf,
  run,
  withFolder,
  withStoreFolder,
} from '../../../testkit/processes/program.ts';
import { dataOf, failureOf, wordsOf } from '../../../testkit/processes/remote.ts';
import { fillStore, openEmbedded } from './copied-store.ts';

function backUp(folder: string, file: string, ...more: string[]) {
  return run(['backup', file, '--data-dir', folder, ...more]);
}

test('a backup has every plant, is one file that only its owner can read, and identifies itself', async () => {
  await withStoreFolder(async (folder) => {
    addPlants(folder, 3);
    const file = join(folder, 'plants.backup');
    const said = wordsOf(await backUp(folder, file));
    assert.match(said, /^Backed up 3 plants to .*plants\.backup: \d+\.\d KiB in [\d.]+ s, checked\.\n/);
    assert.match(said, /secrets of webhooks/);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal(plantsIn(file), 3);
    const left = (await readdir(folder)).filter((name) => name.startsWith('plants.backup'));
    assert.deepEqual(left, ['plants.backup']);
  });
});

test('a backup of a store with some of everything passes its own checks', async () => {
  await withFolder(async (folder) => {
    const store = await openEmbedded(folder);
    await fillStore(store);
    await store.close();
    const made = JSON.parse(dataOf(await backUp(folder, join(folder, 'b'), '--json')));
    assert.deepEqual(Object.keys(made), ['path', 'bytes', 'plants', 'seconds']);
    assert.equal(made.bytes, (await stat(join(folder, 'b'))).size);
  });
});

test('a backup overwrites an existing file only with --force', async () => {
  await withStoreFolder(async (folder) => {
    const file = join(folder, 'plants.backup');
    await writeFile(file, 'precious');
    assert.match(failureOf(await backUp(folder, file)), /already exists\. Choose another .* --force\.$/);
    assert.equal(await readFile(file, 'utf8'), 'precious');
    wordsOf(await backUp(folder, file, '--force'));
    assert.equal(plantsIn(file), 0);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });
});

test('a backup that fails says why in one line, and leaves nothing', async () => {
  await withStoreFolder(async (folder) => {
    await withFolder(async (other) => {
      const file = join(other, 'plants.backup');
      const wrong: [where: string, to: string, says: RegExp][] = [
        [folder, join(other, 'none', 'x'), /There is no folder .*none\. Create it/],
        [folder, other, /is a folder\. Choose a file in it/],
        [other, file, /There is no store at .* --data-dir\.$/],
      ];
      for (const [where, to, says] of wrong) assert.match(failureOf(await backUp(where, to)), says);
      assert.deepEqual(await readdir(other), []);

      const store = await stat(storePath(folder));
      for (const to of [storePath(folder), join(other, 'link')]) {
        if (to !== storePath(folder)) await symlink(storePath(folder), to);
        assert.match(failureOf(await backUp(folder, to, '--force')), /is the store itself/);
      }
      assert.equal((await stat(storePath(folder))).ino, store.ino);

      await writeFile(storePath(other), 'no database at all'.repeat(300));
      assert.match(failureOf(await backUp(other, file)), /cannot be read: its file is not a database\.$/);
      new DatabaseSync(join(folder, 'notes.db')).exec('CREATE TABLE notes (text)');
      await mkdir(join(other, 'data'));
      const db = new DatabaseSync(storePath(join(other, 'data')));
      db.exec('CREATE TABLE notes (text)');
      db.close();
      assert.match(failureOf(await backUp(join(other, 'data'), file)), /but not a plant store\.$/);
    });
  });
});

test('a backup never takes the name of a file of its store', async () => {
  await withStoreFolder(async (folder) => {
    await withFolder(async (other) => {
      const link = join(other, 'data');
      await symlink(folder, link);
      for (const name of [
        'plant-store.db-wal',
        'plant-store.db-shm',
        'plant-store.db-sizes',
        'serving.lock',
      ]) {
        for (const [where, to] of [
          [folder, link],
          [link, folder],
        ] as const) {
          const outcome = await backUp(where, join(to, name), '--force');
          assert.match(failureOf(outcome), /belongs to the store itself\. Choose another file\.$/);
        }
      }
    });
  });
});

test('with a database, backup names the tools to use instead', async () => {
  const { code, stdout, stderr } = await run(['backup', 'x'], {
    DATABASE_URL: 'postgres://a:secret@db/plants',
  });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /postgres:\/\/a@db\/plants.*pg_dump.*point-in-time.*"Run on PostgreSQL"/);
  assert.doesNotMatch(stderr, /secret/);
});

test('a full disk leaves nothing of a backup, and keeps the previous one', async () => {
  await withStoreFolder(async (folder) => {
    await withFolder(async (other) => {
      const file = join(other, 'plants.backup');
      wordsOf(await backUp(folder, file));
      addPlants(folder, 30_000);
      const small = ['sh', '-c', 'ulimit -f 600; exec "$@"', 'sh'];
      const outcome = await outcomeOf(launch(['backup', file, '--force', '--data-dir', folder], {}, small));
      assert.match(
        failureOf(outcome),
        /cannot be written to .*, and nothing is left of the backup: the disk/,
      );
      assert.deepEqual(await readdir(other), ['plants.backup']);
      assert.equal(plantsIn(file), 0);
    });
  });
});

test('an unwritable folder is reported as one', async (t) => {
  if (process.getuid?.() === 0) return t.skip('root may write everywhere');
  await withStoreFolder(async (folder) => {
    await withFolder(async (other) => {
      await chmod(other, 0o500);
      assert.match(failureOf(await backUp(folder, join(other, 'x'))), /cannot be written to /);
    });
  });
});

test('a backup of a store that its user may not read says so', { skip: whyNoPermissions }, async () => {
  await withStoreFolder(async (folder) => {
    const path = storePath(folder);
    await chmod(path, 0);
    const backup = launch(['backup', join(folder, 'b'), '--data-dir', folder], {}, WITHOUT_CAPABILITIES);
    assert.equal(
      failureOf(await outcomeOf(backup)),
      `error: The store ${path} cannot be read: permission denied.`,
    );
  });
});

test('a backup works with a priority that its user may not raise', { skip: whyNoPermissions }, async () => {
  await withStoreFolder(async (folder) => {
    const args = ['backup', join(folder, 'b'), '--data-dir', folder];
    wordsOf(await outcomeOf(launch(args, {}, ['nice', '-n', '15', ...WITHOUT_CAPABILITIES])));
  });
});

test('a damaged store is not backed up over a good backup', async () => {
  await withStoreFolder(async (folder) => {
    const file = join(folder, 'plants.backup');
    addPlants(folder, 20_000);
    wordsOf(await backUp(folder, file));
    await using store = await open(storePath(folder), 'r+');
    const { size } = await store.stat();
    for (let at = 40 * 4096; at < size; at += 16 * 4096)
      await store.write(Buffer.alloc(4096, 0xa5), 0, 4096, at);
    const { code, stderr } = await backUp(folder, file, '--force');
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: The store \S+\/plant-store\.db cannot be backed up, and nothing is left of the backup: [^\n]+\n$/,
    );
    assert.equal(plantsIn(file), 20_000);
  });
});

test('an interrupted backup leaves nothing', async () => {
  await withStoreFolder(async (folder) => {
    addPlants(folder, 300_000);
    await withFolder(async (other) => {
      const child = launch(['backup', join(other, 'b'), '--data-dir', folder]);
      const ended = outcomeOf(child);
      while ((await readdir(other)).length === 0) await pause(1);
      child.kill('SIGINT');
      assert.equal((await ended).signal, 'SIGINT');
      assert.deepEqual(await readdir(other), []);
    });
  });
});

/** Starts a command as the first process of a container. */
const AS_FIRST = ['unshare', '--pid', '--fork', '--kill-child'];
const whyNotFirst =
  spawnSync('unshare', [...AS_FIRST.slice(1), 'true']).status !== 0 && 'this user may not start one';

test('an interrupted backup ends even as the first process of a container', {
  skip: whyNotFirst,
}, async () => {
  await withStoreFolder(async (folder) => {
    addPlants(folder, 300_000);
    await withFolder(async (other) => {
      const unshare = launch(['backup', join(other, 'b'), '--data-dir', folder], {}, AS_FIRST);
      const ended = outcomeOf(unshare);
      while ((await readdir(other)).length === 0) await pause(1);
      const children = await readFile(`/proc/${unshare.pid}/task/${unshare.pid}/children`, 'utf8');
      process.kill(Number(children), 'SIGTERM');
      const { code, stderr } = await ended;
      assert.deepEqual({ code, stderr }, { code: 143, stderr: '' });
      assert.deepEqual(await readdir(other), []);
    });
  });
});

/** The stages at which to kill a backup, by the files in its folder. */
const STAGES: readonly (readonly [what: string, isReached: (names: string[]) => boolean])[] = [
  ['it has a draft', () => true],
  ['it has a lock', (names) => names.includes('lock')],
  ['it copies', (names) => names.includes('store-journal')],
];

/** The files in the folder where a backup works; undefined without one. */
function draftIn(folder: string): string[] | undefined {
  const name = readdirSync(folder).find((each) => each.includes('.partial-'));
  return name === undefined ? undefined : readdirSync(join(folder, name));
}

/** Starts a backup; resolves at this stage. */
async function backupUntil(
  isReached: (names: string[]) => boolean,
  [folder, file]: [folder: string, file: string],
): Promise<{ kill(): void; ended: Promise<Outcome> }> {
  const child = launch(['backup', file, '--force', '--data-dir', folder]);
  const ended = outcomeOf(child);
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  for (let draft: string[] | undefined; !draft || !isReached(draft); draft = draftIn(dirname(file))) {
    assert.ok(!hasEnded, 'it ended too soon');
    // Node takes long to start, each stage after it does not.
    await (draft ? turn() : pause(1));
  }
  return { kill: () => void child.kill('SIGKILL'), ended };
}

for (const [what, isReached] of STAGES) {
  test(`the next backup, of any name, removes what one left that was killed when ${what}`, async () => {
    await withStoreFolder(async (folder) => {
      addPlants(folder, 300_000);
      await withFolder(async (other) => {
        const { kill, ended } = await backupUntil(isReached, [folder, join(other, 'monday')]);
        kill();
        assert.equal((await ended).signal, 'SIGKILL');
        assert.equal((await readdir(other)).length, 1);
        const file = join(other, 'tuesday');
        wordsOf(await backUp(folder, file));
        assert.deepEqual(await readdir(other), ['tuesday']);
        assert.equal(plantsIn(file), 300_000);
      });
    });
  });
}

test('a backup removes nothing of a concurrent one, and nothing that is not its own', async () => {
  await withStoreFolder(async (folder) => {
    addPlants(folder, 300_000);
    await withFolder(async (other) => {
      const file = join(other, 'b');
      const first = await backupUntil((names) => names.includes('store-journal'), [folder, file]);
      const named = (end: string) => join(other, `plant-store-backup.partial-${end}`);
      await writeFile(named('notes1'), 'a file');
      await writeFile(named('1'), 'a file');
      await mkdir(named('mydata'));
      await writeFile(join(named('mydata'), 'lock'), '');
      await writeFile(join(named('mydata'), 'precious'), '');
      await symlink(folder, named('wheref'));
      const small = await run(['backup', file, '--force', '--data-dir', folder]);
      assert.equal(small.code, 0, small.stderr);
      assert.equal((await first.ended).code, 0, (await first.ended).stderr);
      const mine = ['notes1', '1', 'mydata', 'wheref'].map((end) => basename(named(end)));
      assert.deepEqual((await readdir(other)).toSorted(), ['b', ...mine].toSorted());
      assert.equal(plantsIn(file), 300_000);
    });
  });
});

test('a backup is written where nobody else can plant a link, under an unpredictable name', async () => {
  await withStoreFolder(async (folder) => {
    addPlants(folder, 100_000);
    await withFolder(async (other) => {
      await chmod(other, 0o777);
      const file = join(other, 'b');
      const { ended } = await backupUntil((names) => names.includes('store'), [folder, file]);
      const [name = ''] = await readdir(other);
      const { mode } = await stat(join(other, name));
      assert.equal(mode & 0o7777, 0o700);
      assert.equal((await ended).code, 0);
    });
  });
});

test('a backup with --force replaces files only, and a link to one stays a link', async () => {
  await withStoreFolder(async (folder) => {
    await withFolder(async (other) => {
      const [pipe, file, link, nowhere] = ['pipe', 'file', 'link', 'nowhere'].map((name) =>
        join(other, name),
      );
      assert.ok(pipe && file && link && nowhere);
      execFileSync('mkfifo', [pipe]);
      for (const to of [pipe, '/dev/null']) {
        assert.match(failureOf(await backUp(folder, to, '--force')), /is a device or a pipe/);
      }
      assert.ok((await stat(pipe)).isFIFO());
      await symlink(join(other, 'none'), nowhere);
      assert.match(failureOf(await backUp(folder, nowhere, '--force')), /is a broken link/);
      await writeFile(file, 'the one before');
      await symlink(file, link);
      wordsOf(await backUp(folder, link, '--force'));
      assert.ok((await lstat(link)).isSymbolicLink());
      assert.equal(plantsIn(file), 0);
    });
  });
});

test('doctor explains an interrupted change, and a backup rolls it back', async () => {
  await withStoreFolder(async (folder) => {
    addPlants(folder, 2_000);
    await withFolder(async (broken) => {
      const db = new DatabaseSync(storePath(folder));
      db.exec('PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN');
      db.exec(`UPDATE plants SET name = name || ' of another name, which makes the row longer than it was'`);
      for (const suffix of ['', '-journal']) {
        await copyFile(storePath(folder) + suffix, storePath(broken) + suffix);
      }
      db.close();
      const { stdout } = await run(['doctor'], { DATA_DIR: broken, PORT: '0' });
      assert.match(stdout, /cannot be read: a restore was interrupted\n.*Nothing is lost/);
      const file = join(broken, 'plants.backup');
      wordsOf(await backUp(broken, file));
      const made = new DatabaseSync(file, { readOnly: true });
      const count = made
        .prepare(`SELECT count(*) AS count FROM plants WHERE name LIKE '%another%'`)
        .get()?.count;
      made.close();
      assert.equal(count, 0);
    });
  });
});
