import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chown,
  copyFile,
  link,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { servingLock, storePath } from '../../../src/config/config.ts';
import {
  leftIn,
  makeFirstVersion,
  plantsIn,
  restore,
  withBackup,
} from '../../../testkit/processes/backed-up-store.ts';
import { launch, outcomeOf, run, withFolder, withStoreFolder } from '../../../testkit/processes/program.ts';
import { dataOf, failureOf, wordsOf } from '../../../testkit/processes/remote.ts';
import { serve, TOKEN } from '../../../testkit/processes/server.ts';

test('a backup is restored in place of a store, which is kept and can be restored again', async () => {
  await withBackup(async (folder, file) => {
    const restored = JSON.parse(dataOf(await restore(folder, file, '--json')));
    assert.deepEqual(
      { ...restored, before: '' },
      {
        path: storePath(folder),
        before: '',
        plants: 2,
        waiting: 0,
        revived: [],
      },
    );
    assert.equal(plantsIn(storePath(folder)), 2);
    assert.equal((await stat(storePath(folder))).mode & 0o777, 0o600);
    assert.match(restored.before, /plant-store\.db\.before-restore-\d{8}T\d{6}Z$/);
    assert.equal(plantsIn(restored.before), 5);

    assert.match(
      wordsOf(await restore(folder, restored.before)),
      /^Restored 5 plants .*\nThe previous store is kept/,
    );
    assert.equal(plantsIn(storePath(folder)), 5);
  });
});

test('a backup is restored into a new folder, and a service continues with it', async () => {
  await withBackup(async (folder, file) => {
    const fresh = join(folder, 'fresh');
    wordsOf(await restore(fresh, file));
    assert.equal((await stat(fresh)).mode & 0o777, 0o700);
    assert.deepEqual(await leftIn(fresh), []);
    const made = await run(['token', 'create', '--user', 'ann', '--data-dir', fresh]);
    const token = made.stdout.trim();
    const service = await serve(fresh);
    const answer = await fetch(`${service.url}/plants`, { headers: { authorization: `Bearer ${token}` } });
    assert.deepEqual(await answer.json(), [{ name: 'Plant 1' }, { name: 'Plant 2' }]);
    await service.stop();
  });
});

test('nothing is restored under a running server', async () => {
  await withBackup(async (folder, file) => {
    const service = await serve(folder);
    assert.match(
      failureOf(await restore(folder, file)),
      /A server, or another restore or copy, is running on the data folder .*\. Stop the server, or wait\.$/,
    );
    await service.stop();
    assert.equal(plantsIn(storePath(folder)), 5);
  });
});

test('a lock that cannot be opened is not taken for a running server', async () => {
  await withBackup(async (folder, file) => {
    const lock = join(folder, 'serving.lock');
    await rm(lock, { force: true });
    await symlink('serving.lock', lock);
    assert.equal(
      failureOf(await restore(folder, file)),
      `error: The data folder ${folder} cannot be used: it is a link, which is not followed.`,
    );
    assert.equal(plantsIn(storePath(folder)), 5);
  });
});

test('the log of the previous store is not applied to the restored one', async () => {
  await withBackup(async (folder, file) => {
    const service = await serve(folder, { BOOTSTRAP_TOKEN: TOKEN });
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      'content-type': 'application/json',
    };
    const body = JSON.stringify({ name: 'Alder' });
    assert.equal((await fetch(`${service.url}/plants`, { method: 'POST', headers, body })).status, 201);
    await service.kill();
    assert.ok((await stat(`${storePath(folder)}-wal`)).size > 0);

    const { before } = JSON.parse(dataOf(await restore(folder, file, '--json')));
    assert.equal(plantsIn(storePath(folder)), 2);
    assert.equal(plantsIn(before), 6);
  });
});

test('a file that is not a complete backup is refused, and the store is unchanged', async () => {
  await withBackup(async (folder, file) => {
    const wrong = join(folder, '..', 'wrong');
    const cases: [says: RegExp, make: () => Promise<unknown> | unknown][] = [
      [/its file is not a database\.$/, () => writeFile(wrong, 'no database at all'.repeat(300))],
      [/but not a plant store\.$/, () => writeFile(wrong, '')],
      [/is unchanged: /, () => truncate(wrong, 40_960)],
      [
        /created by a newer version of plant-store/,
        () => change(wrong, `INSERT INTO migrations VALUES (99, 'x', 'x', 1)`),
      ],
      [
        /differs from the one applied/,
        () => change(wrong, `UPDATE migrations SET checksum = 'x' WHERE version = 1`),
      ],
      [/A row of \w+ refers to a missing row of users/, () => change(wrong, 'DELETE FROM users')],
      [/1 plants have no event/, () => change(wrong, 'DELETE FROM events WHERE plant = 2')],
      [/^error: There is no file /, () => run(['--version'])],
    ];
    for (const [says, make] of cases) {
      await copyFile(file, wrong);
      await make();
      const from = says.source.includes('no file') ? `${wrong}-none` : wrong;
      assert.match(failureOf(await restore(folder, from)), says);
      assert.equal(plantsIn(storePath(folder)), 5);
      assert.deepEqual(await leftIn(folder), []);
    }
    assert.match(failureOf(await restore(folder, storePath(folder))), /is the store itself/);
    assert.match(failureOf(await restore(folder, folder)), /is not a file/);
  });
});

function change(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA foreign_keys = OFF; ${sql}`);
  db.close();
}

test('the commands that restore names work on the restored folder', async () => {
  await withBackup(async (folder, file) => {
    const said = wordsOf(await restore(folder, file));
    const [, before = ''] = /is kept, including its secrets: (.*)\n/.exec(said) ?? [];
    const dataDir = `--data-dir ${folder}`;
    assert.ok(said.includes(`To start the service: plant-store serve ${dataDir}\n`), said);
    assert.ok(said.includes(`To go back to it: plant-store restore ${before} ${dataDir}. When`), said);
  });
});

test('a damaged store is replaced, and kept as it is', async () => {
  await withBackup(async (folder, file) => {
    await using store = await open(storePath(folder), 'r+');
    await store.write(Buffer.alloc(4096, 0xa5), 0, 4096, 0);
    await writeFile(`${storePath(folder)}-wal`, 'a log');
    const damaged = await readFile(storePath(folder));
    const said = wordsOf(await restore(folder, file));
    const [, before = ''] = /is kept, including its secrets: (.*)\n/.exec(said) ?? [];
    assert.deepEqual(await readFile(before), damaged);
    assert.equal(await readFile(`${before}-wal`, 'utf8'), 'a log');
    assert.equal(plantsIn(storePath(folder)), 2);
    assert.match(
      said,
      /\nThis version cannot read it: it is damaged, or of a newer version\. When you no longer need it, delete it\.\n/,
    );
    assert.match(
      said,
      /\nwarning: tokens revoked .* cannot be determined\. .*plant-store token list --data-dir \S+\n$/,
    );
  });
});

test('restore says that it cannot read the store of a newer version', async () => {
  await withBackup(async (folder, file) => {
    change(storePath(folder), `INSERT INTO migrations VALUES (99, 'x', 'x', 1)`);
    const said = wordsOf(await restore(folder, file));
    assert.match(said, /\nThis version cannot read it: it is damaged, or of a newer version\. When /);
  });
});

test('restore says so when it cannot compare tokens', async () => {
  await withBackup(async (folder, file) => {
    const cases: [isReadable: boolean, before: () => unknown][] = [
      [false, () => writeFile(storePath(folder), '')],
      [true, () => makeFirstVersion(storePath(folder))],
    ];
    for (const [isReadable, before] of cases) {
      await rm(storePath(folder));
      await before();
      const { code, stderr, stdout } = await restore(folder, file, '--json', '--quiet');
      assert.equal(code, 0, stderr);
      assert.equal(JSON.parse(stdout).revived, null);
      assert.match(stderr, /^warning: tokens revoked [^\n]*\n$/);
      await rm(storePath(folder));
      await before();
      const said = wordsOf(await restore(folder, file));
      assert.equal(said.includes('To go back to it'), isReadable, said);
    }
    // Nothing to compare with; a nightly trial of a backup needs no warning.
    assert.equal(wordsOf(await restore(join(folder, 'trial'), file, '--quiet')), '');
    assert.match(wordsOf(await restore(join(folder, 'other'), file)), /\nwarning: tokens/);
  });
});

test('a store that another program uses is not replaced', async () => {
  await withBackup(async (folder, file) => {
    const db = new DatabaseSync(storePath(folder));
    db.exec('PRAGMA journal_mode = WAL; BEGIN IMMEDIATE');
    assert.match(
      failureOf(await restore(folder, file)),
      /the store is unchanged: another program holds its lock\.$/,
    );
    db.close();
    assert.equal(plantsIn(storePath(folder)), 5);
    assert.deepEqual(await leftIn(folder), []);
  });
});

test('a copy of a folder is restored with its own log', async () => {
  await withBackup(async (folder) => {
    await withFolder(async (copied) => {
      const db = new DatabaseSync(storePath(folder));
      db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0');
      db.exec(`DELETE FROM plants WHERE id = 5; DELETE FROM events WHERE plant = 5`);
      for (const suffix of ['', '-wal'])
        await copyFile(storePath(folder) + suffix, storePath(copied) + suffix);
      db.close();
      const target = join(copied, 'target');
      assert.match(wordsOf(await restore(target, storePath(copied))), /^Restored 4 plants/);
    });
  });
});

test('tokens that were revoked or rotated since the backup work again, and are listed', async () => {
  await withStoreFolder(async (folder) => {
    const verb = (...args: string[]) => run([...args, '--data-dir', folder]);
    wordsOf(await verb('user', 'create', 'ann'));
    await verb('token', 'create', '--user', 'ann', '--label', 'lost laptop');
    await verb('token', 'create', '--user', 'ann', '--label', 'kept');
    for (const label of ['rotated', 'in its overlap']) {
      await verb('token', 'create', '--user', 'ann', '--label', label);
    }
    // From our own program.
    const tokens = JSON.parse(dataOf(await verb('token', 'list', '--json'))) as {
      id: string;
      label: string;
    }[];
    const id = (label: string) => tokens.find((token) => token.label === label)?.id ?? '';
    const file = join(folder, 'plants.backup');
    wordsOf(await verb('backup', file));
    wordsOf(await verb('token', 'revoke', id('lost laptop')));
    assert.equal((await verb('token', 'rotate', id('rotated'), '--overlap', '0')).code, 0);
    assert.equal((await verb('token', 'rotate', id('in its overlap'), '--overlap', '7d')).code, 0);

    const { stderr } = await restore(folder, file, '--quiet');
    const [head, ...named] = stderr.trimEnd().split('\n');
    assert.equal(
      head,
      'warning: these tokens were revoked, rotated or deleted since the backup and now work again:',
    );
    assert.equal(named.pop(), `To revoke one: plant-store token revoke ID --data-dir ${folder}`);
    assert.deepEqual(
      named.toSorted(),
      ['lost laptop', 'rotated', 'in its overlap']
        .map((label) => `  ${id(label)} of ann (${label})`)
        .toSorted(),
    );
  });
});

test('the store of a running server is not accepted as a backup', async () => {
  await withBackup(async (folder) => {
    const service = await serve(folder);
    const [target, alias] = [join(folder, 'target'), join(folder, 'alias')];
    await symlink(storePath(folder), alias);
    for (const from of [storePath(folder), alias]) {
      assert.match(
        failureOf(await restore(target, from)),
        /^error: A server is running on .*\. Back it up instead: plant-store backup FILE --data-dir /,
      );
    }
    await service.stop();
    assert.match(wordsOf(await restore(target, storePath(folder))), /^Restored 5 plants/);
  });
});

test('the next restore removes the second name of the store that a killed one left', async () => {
  await withBackup(async (folder, file) => {
    await link(storePath(folder), `${storePath(folder)}.before-restore-20261121T120000Z`);
    const { before } = JSON.parse(dataOf(await restore(folder, file, '--json')));
    assert.deepEqual(await leftIn(folder), [basename(before)]);
    assert.equal(plantsIn(before), 5);
    assert.equal((await stat(before)).nlink, 1);
  });
});

test('a backup of an older schema is written and restored unchanged, and the next start migrates it', async () => {
  await withFolder(async (folder) => {
    const path = storePath(folder);
    makeFirstVersion(path);
    const [file, target] = [join(folder, 'plants.backup'), join(folder, 'target')];
    wordsOf(await run(['backup', file, '--data-dir', folder]));
    assert.match(wordsOf(await restore(target, file)), /^Restored 1 plant from/);
    const service = await serve(target);
    await service.stop();
    wordsOf(await run(['backup', file, '--force', '--data-dir', target]));
    assert.equal(plantsIn(file), 1);
  });
});

const NOBODY = 65_534;

test('restored as root, a store belongs to the owner of its folder', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root can give files away');
  await withBackup(async (folder, file) => {
    await chown(folder, NOBODY, NOBODY);
    wordsOf(await restore(folder, file));
    for (const name of ['plant-store.db', 'serving.lock']) {
      assert.equal((await stat(join(folder, name))).uid, NOBODY, name);
    }
    const made = join(folder, 'new', 'data');
    wordsOf(await restore(made, file));
    for (const path of [join(folder, 'new'), made, storePath(made), join(made, 'serving.lock')]) {
      assert.equal((await stat(path)).uid, NOBODY, path);
    }
  });
});

test('a failed restore as root does not lock the service out', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root can give files away');
  await withBackup(async (folder, file) => {
    await chown(folder, NOBODY, NOBODY);
    await truncate(file, 5_000);
    failureOf(await restore(folder, file));
    // No file of root is left.
    assert.deepEqual(await readdir(folder), ['plant-store.db']);
  });
});

test('with a database, restore names the tools to use instead', async () => {
  const { code, stderr } = await run(['restore', 'x'], { DATABASE_URL: 'postgres://a@db/plants' });
  assert.equal(code, 1);
  assert.match(stderr, /pg_restore/);
});

test('a folder whose lock cannot be given to its owner is explained, and stays as it was', async (t) => {
  const mayNotGive = ['setpriv', '--bounding-set=-chown'];
  if (process.getuid?.() !== 0) return t.skip('only root can give files away');
  if (spawnSync('setpriv', [...mayNotGive.slice(1), 'true']).status !== 0)
    return t.skip('setpriv is not there');
  await withBackup(async (folder, file) => {
    await chown(folder, NOBODY, NOBODY);
    await rm(servingLock(folder), { force: true });
    const before = await readdir(folder);
    const restoring = launch(['restore', file, '--data-dir', folder], {}, mayNotGive);
    assert.match(
      failureOf(await outcomeOf(restoring)),
      /^error: The data folder \S+ cannot be used: permission denied\.$/,
    );
    assert.deepEqual(await readdir(folder), before);
  });
});
