import { setImmediate } from 'node:timers/promises';
import { storePath } from '../../src/config.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { setEnabled } from './backlog.ts';
import { summary } from './report.ts';

/** What a read of a lane takes in one round, by the clock and in CPU time: medians. */
export type ReadTimes = { ms: number; cpuMs: number };

const READS = 40;
const WARM_UP = 20;

/** Times reads of the first lane in stores with a backlog, in this process, store after store and round by round. */
export async function timeReads<Name extends string>(
  dataDirs: Record<Name, string>,
  { rounds, window }: { rounds: number; window: number },
): Promise<Record<Name, ReadTimes[]>> {
  // The members of a record are its names.
  const names = Object.keys(dataDirs) as Name[];
  const times = Object.fromEntries(names.map((name): [Name, ReadTimes[]] => [name, []]));
  const stores = new Map<Name, Store>();
  for (const name of names) {
    setEnabled(dataDirs[name], true);
    stores.set(name, await open(dataDirs[name]));
  }
  for (let round = -1; round < rounds; round++) {
    for (const [name, store] of stores) {
      const found = await timeSome(store, window, round < 0 ? WARM_UP : READS);
      if (round >= 0) times[name]?.push(found);
    }
  }
  for (const store of stores.values()) await store.close();
  // It has a member for each name.
  return times as Record<Name, ReadTimes[]>;
}

function open(dataDir: string): Promise<Store> {
  return openSqliteStore({
    path: storePath(dataDir),
    writer: 'inline',
    clock: { now: Date.now },
    deliveryDelayMs: 0,
    onFatal(error) {
      throw error;
    },
  });
}

async function timeSome(store: Store, window: number, count: number): Promise<ReadTimes> {
  const ms: number[] = [];
  const cpuMs: number[] = [];
  const [lane] = await store.lanes.findWork(undefined, 1);
  if (!lane) throw new Error('nothing waits');
  for (let i = 0; i < count; i++) {
    const [start, used] = [performance.now(), process.cpuUsage()];
    const request = { webhook: lane.webhook, now: Date.now(), after: undefined, limit: window };
    const { due } = await store.lanes.read(request);
    const { user, system } = process.cpuUsage(used);
    ms.push(performance.now() - start);
    cpuMs.push((user + system) / 1000);
    if (due.length !== window) throw new Error(`${due.length} of ${window} deliveries were read`);
    // The next one is not of the same read transaction.
    await setImmediate();
  }
  return { ms: summary(ms).median, cpuMs: summary(cpuMs).median };
}
