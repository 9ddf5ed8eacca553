import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { createDiskFaults, whyNoFaults } from '../../bench/faults/disk-faults.ts';
import { storePath } from '../../src/config/config.ts';
import { plantsIn, withBackup } from '../../testkit/processes/backed-up-store.ts';
import { run } from '../../testkit/processes/program.ts';

const skip = whyNoFaults() ?? false;

test('a restore does not call a store unchanged that it has replaced, whichever flush of the folder fails', {
  skip,
}, async () => {
  const said = await failEachFlush((folder, file) => ({
    args: ['restore', file, '--data-dir', folder],
    path: storePath(folder),
  }));
  assert.deepEqual(said, ['5 plants, the store is unchanged', '2 plants, in place']);
});

test('a restore into a new folder does not call a store unchanged that it has created', {
  skip,
}, async () => {
  const said = await failEachFlush((folder, file) => {
    const fresh = join(folder, 'fresh');
    return { args: ['restore', file, '--data-dir', fresh], path: storePath(fresh) };
  });
  assert.deepEqual(said, ['2 plants, in place']);
});

test('a backup says that it is in place when only the flush of its folder fails', { skip }, async () => {
  const said = await failEachFlush((folder) => {
    const path = join(folder, 'backups', 'new.backup');
    return { args: ['backup', path, '--data-dir', folder], path };
  });
  assert.deepEqual(said, ['5 plants, in place']);
});

type Command = { args: string[]; path: string };

/**
 * Runs the command once for each flush of a folder, which fails then. Returns what is in place when the command fails,
 * and what it says.
 */
async function failEachFlush(commandIn: (folder: string, file: string) => Command): Promise<string[]> {
  const said: string[] = [];
  for (let nth = 1; ; nth++) {
    let hasFailed = false;
    await withBackup(async (folder, file) => {
      const { args, path } = commandIn(folder, file);
      if (args[0] === 'backup') await mkdir(dirname(path));
      const faults = createDiskFaults(dirname(folder));
      faults.arm({ op: 'fsync', file: 'folder', nth });
      const outcome = await run(args, faults.env(dirname(path)));
      faults.disarm();
      hasFailed = faults.fired() > 0;
      // SQLite does without its flushes of a folder.
      if (outcome.code === 0) return;
      assert.ok(hasFailed, outcome.stderr);
      assert.match(outcome.stderr, /^error: .+\.\n$/);
      const words = /the store is unchanged|there is still no store|nothing is left|in place/.exec(
        outcome.stderr,
      );
      said.push(`${existsSync(path) ? plantsIn(path) : 'no'} plants, ${words}`);
    });
    if (!hasFailed) return said;
  }
}
