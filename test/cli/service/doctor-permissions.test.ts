import assert from 'node:assert/strict';
import { chmod, chown, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { storePath } from '../../../src/config/config.ts';
import { WITHOUT_CAPABILITIES, whyNoPermissions } from '../../../testkit/processes/permissions.ts';
import { withStoreFolder } from '../../../testkit/processes/program.ts';
import { examine } from './examine.ts';

const limited = { skip: whyNoPermissions };
const asRoot = { skip: process.getuid?.() === 0 ? whyNoPermissions : 'only root gives files away' };

test('doctor says which file keeps it from finding a server, and continues', limited, async () => {
  await withStoreFolder(async (folder) => {
    const lock = `${folder}/serving.lock`;
    await writeFile(lock, '', { mode: 0 });
    const env = { DATA_DIR: folder, JWT_ISSUER: 'http://127.0.0.1:1', JWT_AUDIENCE: 'x' };
    const { code, of } = await examine(env, WITHOUT_CAPABILITIES);
    assert.equal(code, 1);
    assert.deepEqual(of('Server'), [
      {
        name: 'Server',
        verdict: 'problem',
        text: `whether one runs is unknown: ${lock} cannot be read (unable to open database file)`,
        advice: `Run doctor as the user of the service. To give the file to that user: chown USER ${lock}`,
      },
    ]);
    assert.deepEqual(of('Port'), []);
    assert.equal(of('Identity provider').length, 1);
  });
});

test('doctor finds a file of the store that this user may not read or write', limited, async () => {
  await withStoreFolder(async (folder) => {
    const path = storePath(folder);
    await writeFile(`${path}-wal`, '');
    for (const [file, mode] of [
      [path, 0],
      [path, 0o400],
      [`${path}-wal`, 0o400],
    ] as const) {
      await chmod(file, mode);
      const { code, of } = await examine({ DATA_DIR: folder }, WITHOUT_CAPABILITIES);
      await chmod(file, 0o600);
      assert.equal(code, 1);
      const text = `this user cannot read and write ${file} (permission denied)`;
      assert.deepEqual(of('Store'), [
        { name: 'Store', verdict: 'problem', text, advice: `chmod 600 ${file}` },
      ]);
    }
  });
});

test('doctor advises to give the store of another user to that of the service', asRoot, async () => {
  await withStoreFolder(async (folder) => {
    const path = storePath(folder);
    await chown(path, 1, 1);
    const { of } = await examine({ DATA_DIR: folder }, WITHOUT_CAPABILITIES);
    assert.match(
      of('Store')[0]?.text ?? '',
      /cannot read and write .*plant-store\.db \(permission denied\)$/,
    );
    assert.match(of('Store')[0]?.advice ?? '', /^Run it as the owner of the data folder/);
  });
});

test('doctor reports a folder that it may not look into, and continues', limited, async () => {
  await withStoreFolder(async (folder) => {
    const provider = { JWT_ISSUER: 'http://127.0.0.1:1', JWT_AUDIENCE: 'x' };
    for (const [dataDir, said] of [
      [folder, /^\S+ belongs to the user with id \d+, and this user cannot write to it \(EACCES: .*\)$/],
      [`${folder}/data`, /^\S+data cannot be examined \(EACCES: .*\)$/],
    ] as const) {
      await chmod(folder, 0);
      const { code, of } = await examine({ DATA_DIR: dataDir, ...provider }, WITHOUT_CAPABILITIES);
      await chmod(folder, 0o700);
      assert.equal(code, 1);
      const [found, ...more] = of('Data folder');
      assert.deepEqual([found?.verdict, more], ['problem', []]);
      assert.match(found?.text ?? '', said);
      assert.match(found?.advice ?? '', /^Run it as the owner of the data folder/);
      assert.equal(of('Identity provider').length, 1);
    }
  });
});
