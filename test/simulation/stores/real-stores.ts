import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { silentLog } from '../../../src/runtime.ts';
import { laneReads } from '../../../src/store/postgres/deliveries/lanes.ts';
import { recordOutcomes } from '../../../src/store/postgres/deliveries/outcomes.ts';
import { openDatabase, type Statement } from '../../../src/store/postgres/engine/database.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import type { RealStore } from '../checks/shadow.ts';

export type StoreKind = 'sqlite' | 'postgres';

/** Keeps what stores of this kind need between runs, such as a server, until it is released. */
export async function keepReal(kind: StoreKind): Promise<() => Promise<void>> {
  if (kind === 'sqlite') return async () => {};
  const { useServer } = await import('../../../testkit/stores/postgres.ts');
  return (await useServer()).leave;
}

export function openReal(kind: StoreKind): Promise<RealStore & { close(): Promise<void> }> {
  return kind === 'sqlite' ? openFile() : openServer();
}

async function openFile() {
  const folder = mkdtempSync(join(tmpdir(), 'simulated-'));
  const store = await openSqliteStore({
    path: join(folder, 'plant-store.db'),
    writer: 'thread',
    clock: { now: Date.now },
    deliveryDelayMs: 0,
    onFatal(error) {
      throw error;
    },
  });
  const lanes = await lanesOf(store);
  const { read, suspect, record } = lanes.store;
  return {
    store,
    hasFences: false,
    read,
    suspect,
    record: (_: string, outcomes: Parameters<typeof record>[0]) => record(outcomes),
    async close() {
      await lanes.close();
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Leases use the server's clock, which does not stop, so they are written before each record. */
async function openServer(): Promise<RealStore & { close(): Promise<void> }> {
  // Its libraries listen for signals and the exit, also when nobody needs a server.
  const { makeStoreDatabase, openStoreIn } = await import('../../../testkit/stores/postgres.ts');
  const database = await makeStoreDatabase();
  const store = await openStoreIn(database.url);
  const lanes = openDatabase({
    url: parseDatabaseUrl(database.url),
    connections: 2,
    pooled: false,
    log: silentLog,
  });
  const { read, suspect } = laneReads(lanes);
  return {
    store,
    hasFences: true,
    read,
    suspect,
    async record(replica, outcomes, leases) {
      const owned = [...leases].map(([webhook, { replica, fence }]) => ({ webhook, replica, fence }));
      await lanes.write([{ statement: OWN, values: [JSON.stringify(owned)] }]);
      return recordOutcomes(lanes, replica, outcomes);
    },
    async close() {
      await lanes.close();
      await store.close();
      await database.drop();
    },
  };
}

const OWN: Statement = {
  name: 'simulated-own',
  text: `INSERT INTO lanes (webhook, subscriber, replica, fence)
    SELECT w.id, w.owner, i.replica, i.fence
    FROM json_to_recordset($1) AS i(webhook text, replica text, fence int8)
    JOIN webhooks w ON w.id = i.webhook
    ON CONFLICT (webhook) DO UPDATE
    SET replica = excluded.replica, fence = excluded.fence`,
};
