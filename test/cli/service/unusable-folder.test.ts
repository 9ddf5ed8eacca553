import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { WITHOUT_CAPABILITIES, whyNoPermissions } from '../../../testkit/processes/permissions.ts';
import { launch, outcomeOf, run, withFolder, withStoreFolder } from '../../../testkit/processes/program.ts';
import { failureOf } from '../../../testkit/processes/remote.ts';

test('a data folder that is a file is reported as one', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    for (const verb of [
      ['serve', '--port', '0'],
      ['restore', file],
    ]) {
      const outcome = await run([...verb, '--data-dir', file]);
      assert.match(
        failureOf(outcome),
        /The data folder .*file cannot be created: a file of that name exists/,
      );
    }
  });
});

const limited = { skip: whyNoPermissions };

test('a folder that this user may not enter is explained by backup, restore and copy', limited, async () => {
  await withStoreFolder(async (folder) => {
    const locked = join(folder, 'locked');
    await mkdir(locked, { mode: 0 });
    for (const [args, says] of [
      [['backup', join(folder, 'b'), '--data-dir', locked], /The store .*plant-store\.db cannot be read/],
      [['backup', join(locked, 'b'), '--data-dir', folder], /b cannot be written/],
      [['restore', join(locked, 'b'), '--data-dir', folder], /b cannot be read/],
      [['copy', '--from', `sqlite:${locked}`, '--to', 'postgres://a@b/c'], /The store .* cannot be read/],
      [
        ['copy', '--from', `sqlite:${locked}/data`, '--to', 'postgres://a@b/c'],
        /The store .* cannot be read/,
      ],
    ] as const) {
      const failure = failureOf(await outcomeOf(launch(args, {}, WITHOUT_CAPABILITIES)));
      assert.match(failure, says);
      assert.match(failure, /: permission denied\.$/);
    }
    await chmod(locked, 0o700);
  });
});
