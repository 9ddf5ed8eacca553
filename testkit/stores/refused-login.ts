import assert from 'node:assert/strict';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { silentLog } from '../../src/runtime.ts';
import { openDatabase, statement } from '../../src/store/postgres/engine/database.ts';

const ONE = statement`SELECT 1 AS one`;

/**
 * Checks that a service with one open connection continues with it while the server refuses further logins.
 * @param refuse makes the server refuse logins, if it does not yet
 */
export async function checkRefusedLogin(url: string, pooled: boolean, refuse: () => Promise<unknown>) {
  const told = Promise.withResolvers<void>();
  const log = { ...silentLog, warn: () => told.resolve() };
  const database = openDatabase({ url: parseDatabaseUrl(url), connections: 2, pooled, log });
  try {
    await database.read(ONE);
    await refuse();
    const isHeld = Promise.withResolvers<void>();
    const writing = database.transaction(async (query) => {
      await query(ONE);
      isHeld.resolve();
      await told.promise;
      return query(ONE);
    });
    await isHeld.promise;
    const reading = database.read(ONE);
    assert.deepEqual(await Promise.all([writing, reading]), [[{ one: 1 }], [{ one: 1 }]]);
  } finally {
    await database.close();
  }
}
