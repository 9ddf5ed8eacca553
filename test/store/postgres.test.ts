import { parseDatabaseUrl } from '../../src/database-url.ts';
import { silentLog } from '../../src/runtime.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { changeUnchecked, makeDatabase, makePartitions } from '../harness/postgres.ts';
import { storeConformance } from './conformance.ts';

for (const { name, pooled, partitions } of [
  { name: 'PostgreSQL', pooled: false, partitions: undefined },
  { name: 'PostgreSQL (partitioned, as behind a pooler)', pooled: true, partitions: 4 },
]) {
  storeConformance({
    name,
    async open() {
      const database = await makeDatabase();
      if (partitions !== undefined) await makePartitions(database.url, partitions);
      const store = await openPostgresStore({
        url: parseDatabaseUrl(database.url),
        connections: 4,
        pooled,
        clock: { now: Date.now },
        log: silentLog,
        deliveryDelayMs: 0,
      });
      return {
        store,
        change: (sql) => changeUnchecked(database.url, sql),
        async drop() {
          await store.close();
          await database.drop();
        },
      };
    },
  });
}
