import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { storeConformance } from './conformance.ts';

for (const writer of ['thread', 'inline'] as const) {
  storeConformance({
    name: `SQLite (${writer})`,
    async open() {
      const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
      const store = await openSqliteStore({
        path: join(folder, 'plant-store.db'),
        writer,
        clock: { now: Date.now },
        deliveryDelayMs: 0,
        onFatal(error) {
          throw error;
        },
      });
      return {
        store,
        async drop() {
          await store.close();
          rmSync(folder, { recursive: true });
        },
      };
    },
  });
}
