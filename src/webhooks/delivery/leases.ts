import { lanes as limits } from '../../limits.ts';
import type { Log } from '../../runtime.ts';
import type { OwnerListener } from './deliver.ts';
import type { TakenLane } from './dispatch.ts';
import { createOwnership, type LaneFence } from './ownership.ts';
import { pause, systemTimers, type Timers } from './timers.ts';

/** The leases of all replicas: one row says that a replica is alive, and each lane names its owner. Any call may fail. */
export type LeaseStore = {
  /** Begins the lease of a replica, or renews it. False if it was begun and has ended. */
  renew(replica: string, of: { isBegun: boolean; dispatches: boolean }): Promise<boolean>;
  /** The live replicas that dispatch. */
  members(): Promise<readonly string[]>;
  /** Takes the lanes that no other live replica owns, each under a higher fence than all before. */
  take(replica: string, webhooks: readonly string[]): Promise<readonly LaneOfStore[]>;
  /** @param isUsed whether their rates may have been used just now */
  giveBack(replica: string, lanes: readonly LaneFence[], isUsed: boolean): Promise<void>;
  /** Ends its lease: the lanes that it still has are free. */
  end(replica: string): Promise<void>;
};

export type LaneOfStore = Pick<TakenLane, 'webhook' | 'fence' | 'isInherited'> & {
  /** The last owner, if it did not give the lane back. */
  leftBy: string | undefined;
};

/** The leases of this replica. */
export type LaneLeases = Awaited<ReturnType<typeof startLeases>>;

type LeaseParts = {
  store: LeaseStore;
  /** The name of this process, which no other process has. */
  name: string;
  log: Log;
  /** Called with lanes that were returned for others to take. */
  onHandOver(webhooks: readonly string[]): void;
  timers?: Timers | undefined;
};

/** Resolves with the first lease of this replica: without the store nothing can be sent. */
export async function startLeases(parts: LeaseParts) {
  const { store, name, log, onHandOver, timers = systemTimers } = parts;
  const ownership = createOwnership(limits);
  let listener: OwnerListener | undefined;
  const stopped = new AbortController();
  let lives = 0;
  let dispatches = true;
  let cancelWatch = () => {};
  /** Resolves when no lanes are on their way back. */
  let given = Promise.resolve();

  /** A replica that failed to renew has lost its lanes; it takes new ones under a new id. */
  function beginLife(): void {
    const lost = ownership.begin(`${name}-${++lives}`);
    if (lost.length > 0) listener?.lost(lost);
  }

  async function renew(): Promise<void> {
    // The store may have carried out its last renewal late: until that lease ended, nobody could take its lanes.
    if (!ownership.isBegun() && lives > 1) await store.end(`${name}-${lives - 1}`);
    const life = ownership.replica();
    const sentAt = timers.elapsed();
    const isOn = await store.renew(life, { isBegun: ownership.isBegun(), dispatches });
    if (life !== ownership.replica()) return;
    if (!isOn) {
      log.warn({}, 'the lease of this replica had ended: it sends what it takes again');
      beginLife();
      return renew();
    }
    ownership.renewed(sentAt);
  }

  let hasFailed = false;

  async function tryToBeat(): Promise<boolean> {
    try {
      if (timers.elapsed() >= ownership.renewsAt()) await renew();
      const { leaving, isAnyGone } = ownership.see(await store.members(), timers.elapsed());
      if (leaving.length > 0) listener?.leave(leaving);
      if (isAnyGone) listener?.gone();
      hasFailed = false;
    } catch (error) {
      log[hasFailed ? 'debug' : 'warn']({ err: error }, 'could not renew the lease of this replica');
      hasFailed = true;
    }
    return !hasFailed;
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      await pause(timers, limits.lookMs, stopped.signal);
      if (!stopped.signal.aborted) await tryToBeat();
    }
  }

  /** Independent of the renewals, one of which may be waiting for its answer. */
  function watch(): void {
    cancelWatch = timers.later(watch, limits.lookMs / 4);
    if (ownership.isBegun() && timers.elapsed() >= ownership.endsAt()) {
      log.warn({}, 'this replica could not renew its lease: it stops sending');
      beginLife();
    }
  }

  async function giveBack(dropped: readonly LaneFence[], isUsed: boolean): Promise<void> {
    if (dropped.length === 0) return;
    const giving = store.giveBack(ownership.replica(), dropped, isUsed);
    given = Promise.allSettled([given, giving]).then(() => {});
    await giving;
    if (isUsed) onHandOver(dropped.map(({ webhook }) => webhook));
  }

  async function finish(): Promise<void> {
    stopped.abort();
    cancelWatch();
    // Lanes of a replica that has ended look like those of a killed one.
    await Promise.all([running, given]);
    try {
      await giveBack(ownership.drop(ownership.owned()), true);
      // Without a lease there is nothing to end, and the store may be silent.
      if (ownership.isBegun()) await store.end(ownership.replica());
    } catch (error) {
      log.warn({ err: error }, 'could not give the lanes back: others take them when the lease ends');
    }
  }

  beginLife();
  while (!(await tryToBeat())) await pause(timers, limits.lookMs, stopped.signal);
  const running = run();
  watch();
  let stopping: Promise<void> | undefined;
  return {
    async take(webhooks: readonly string[]): Promise<TakenLane[]> {
      const life = ownership.replica();
      const wanted = ownership.wants(webhooks, timers.elapsed());
      if (wanted.length === 0) return [];
      const taken = await store.take(life, wanted);
      if (life !== ownership.replica()) return [];
      const now = timers.elapsed();
      for (const { webhook, fence } of taken) ownership.taken(webhook, fence, now);
      return taken.map(({ leftBy, ...lane }) => ({
        ...lane,
        // This process has survived what it sent under an earlier id.
        isSuspect: leftBy !== undefined && !leftBy.startsWith(`${name}-`),
      }));
    },
    giveBack: (webhooks: readonly string[], isUsed: boolean) => giveBack(ownership.drop(webhooks), isUsed),
    listen(to: OwnerListener): void {
      listener = to;
    },
    replica: ownership.replica,
    mayServe: (webhook: string) => ownership.mayServe(webhook, timers.elapsed()),
    isFor: ownership.isFor,
    /** The store found that others own these lanes. */
    lost: ownership.lost,
    async drain(): Promise<void> {
      dispatches = false;
      await renew().catch((error: unknown) => log.debug({ err: error }, 'could not say that it stops'));
    },
    stop: () => (stopping ??= finish()),
  };
}
