import { randomBytes } from 'node:crypto';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { silentLog } from '../../../src/runtime.ts';
import { RIGHTS } from '../../../src/store/postgres/access/rights.ts';
import { openPostgresStore } from '../../../src/store/postgres/store.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import {
  administer,
  changeUnchecked,
  fencesOf,
  makeStoreDatabase,
} from '../../../testkit/stores/postgres.ts';
import { storeConformance } from '../conformance/conformance.ts';

for (const { name, pooled, isWhole } of [
  { name: 'PostgreSQL', pooled: false, isWhole: true },
  {
    name: 'PostgreSQL (partitioned, as behind a pooler, with the least rights)',
    pooled: true,
    isWhole: false,
  },
]) {
  storeConformance({
    name,
    async open() {
      const database = await makeStoreDatabase(isWhole ? undefined : 4);
      const role = isWhole ? undefined : await makeRole(database.url);
      const store = await openPostgresStore({
        url: parseDatabaseUrl(role?.url ?? database.url),
        connections: 4,
        pooled,
        clock: { now: Date.now },
        log: silentLog,
        deliveryDelayMs: 0,
      });
      const lanes = await lanesOf(store);
      return {
        store,
        lanes: lanes.store,
        fenceOf: fencesOf(lanes),
        change: (sql) => changeUnchecked(database.url, sql),
        async drop() {
          await lanes.close();
          await store.close();
          await role?.drop();
          await database.drop();
        },
      };
    },
  });
}

/** Creates a role with exactly the rights that the service documents. */
async function makeRole(databaseUrl: string) {
  const url = new URL(databaseUrl);
  url.username = `role_${randomBytes(6).toString('hex')}`;
  url.password = 'plants';
  const grants = Object.entries(RIGHTS).map(
    ([table, rights]) => `GRANT ${rights.replaceAll(' ', ', ')} ON ${table} TO ${url.username};`,
  );
  await administer(
    databaseUrl,
    `CREATE ROLE ${url.username} LOGIN PASSWORD '${url.password}';
     GRANT SELECT ON migrations TO ${url.username};
     ${grants.join(' ')}`,
  );
  return {
    url: url.href,
    async drop() {
      await administer(databaseUrl, `DROP OWNED BY ${url.username}; DROP ROLE ${url.username}`);
    },
  };
}
