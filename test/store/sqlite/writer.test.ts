import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../src/errors.ts';
import { openConnection } from '../../../src/store/sqlite/engine/connection.ts';
import { migrate } from '../../../src/store/sqlite/engine/migrate.ts';
import type { StoreFiles } from '../../../src/store/sqlite/engine/store-files.ts';
import { createWriter } from '../../../src/store/sqlite/engine/writer.ts';
import { createVersions } from '../../../src/store/sqlite/plants/versions.ts';

test('when a check fails after a commit, the outcome is unknown: nothing says that it was not done', () => {
  const db = openConnection(':memory:');
  migrate(db, 0);
  db.exec("INSERT INTO users (id, name, created_at) VALUES (1, 'ann', 0)");
  const ioError = Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 266 });
  const files: Pick<StoreFiles, 'path' | 'isLogCut' | 'lossAfterCommit' | 'writeRefusal'> = {
    path: 'plant-store.db',
    isLogCut: () => false,
    writeRefusal: () => undefined,
    lossAfterCommit() {
      throw ioError;
    },
  };
  // The writer calls only these.
  const execute = createWriter(db, { deliveryDelayMs: 0, versions: createVersions() }, files as StoreFiles);
  assert.throws(
    () => execute([['deletePlant', 1, undefined, 1, 1n]]),
    (error) => error instanceof AppError && error.code === 50301,
  );
  db.close();
});
