import { storePath } from '../../src/config.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { setEnabled } from './backlog.ts';
import { summary } from './report.ts';

/** What a claim takes in one round, by its clock (the flush of the commit included) and in CPU time: medians. */
export type ClaimTimes = { ms: number; cpuMs: number };

const CLAIMS = 40;
const WARM_UP = 20;
const LEASE_MS = 60_000;

/**
 * Times claims in stores with a backlog, in this process, store after store and round by round. Each claim is given
 * back at once, to the end of its webhook's lane: the backlog stays as long as it was, and no claim finds the rows
 * of the one before.
 */
export async function timeClaims<Name extends string>(
  dataDirs: Record<Name, string>,
  { rounds, claimed }: { rounds: number; claimed: number },
): Promise<Record<Name, ClaimTimes[]>> {
  // The members of a record are its names.
  const names = Object.keys(dataDirs) as Name[];
  const times = Object.fromEntries(names.map((name): [Name, ClaimTimes[]] => [name, []]));
  const stores = new Map<Name, Store>();
  for (const name of names) {
    setEnabled(dataDirs[name], true);
    stores.set(name, await open(dataDirs[name]));
  }
  for (let round = -1; round < rounds; round++) {
    for (const [name, store] of stores) {
      const found = await timeSome(store, claimed, round < 0 ? WARM_UP : CLAIMS);
      if (round >= 0) times[name]?.push(found);
    }
  }
  for (const store of stores.values()) await store.close();
  // It has a member for each name.
  return times as Record<Name, ClaimTimes[]>;
}

function open(dataDir: string): Promise<Store> {
  return openSqliteStore({
    path: storePath(dataDir),
    // The hop to another thread would hide what a claim takes.
    writer: 'inline',
    clock: { now: Date.now },
    deliveryDelayMs: 0,
    onFatal(error) {
      throw error;
    },
  });
}

async function timeSome(store: Store, claimed: number, count: number): Promise<ClaimTimes> {
  const ms: number[] = [];
  const cpuMs: number[] = [];
  for (let i = 0; i < count; i++) {
    const now = Date.now();
    const [start, used] = [performance.now(), process.cpuUsage()];
    const claims = await store.outbox.claim({
      now,
      leaseUntil: now + LEASE_MS,
      limit: claimed,
      places: { each: claimed, of: new Map(), together: claimed },
    });
    const { user, system } = process.cpuUsage(used);
    ms.push(performance.now() - start);
    cpuMs.push((user + system) / 1000);
    if (claims.length !== claimed) throw new Error(`${claims.length} of ${claimed} deliveries were claimed`);
    await store.outbox.releaseLeases(now);
  }
  return { ms: summary(ms).median, cpuMs: summary(cpuMs).median };
}
