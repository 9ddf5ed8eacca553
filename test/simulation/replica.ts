import { silentLog } from '../../src/runtime.ts';
import { createDatabaseClock } from '../../src/store/postgres/replicas/database-clock.ts';
import {
  type DeliverOptions,
  deliver,
  type LaneOwners,
  type Runner,
} from '../../src/webhooks/delivery/deliver.ts';
import { type LaneLeases, startLeases } from '../../src/webhooks/delivery/leases.ts';
import type { LaneStore, Outcome } from '../../src/webhooks/delivery/port.ts';
import { soleOwner } from '../../src/webhooks/delivery/sole-owner.ts';
import type { Attempt } from '../../src/webhooks/sending/attempt.ts';
import type { Send } from './checks/send.ts';
import type { Witness } from './checks/witness.ts';
import { createProcess, type Process } from './process.ts';
import { type Calls, createCalls } from './stores/calls.ts';
import { leaseStoreOf } from './stores/lease-store.ts';
import type { MemoryLeases } from './stores/memory-leases.ts';
import type { Rows } from './stores/memory-rows.ts';
import type { MemoryLanes } from './stores/memory-store.ts';
import type { Random } from './world/random.ts';
import { ATTEMPT_MS, type Receivers } from './world/receivers.ts';
import type { Scenario } from './world/scenario.ts';
import type { VirtualTime } from './world/virtual-time.ts';

/** What all replicas of a run share. */
export type Ground = {
  scenario: Scenario;
  time: VirtualTime;
  rows: Rows;
  lanes: MemoryLanes;
  leases: MemoryLeases;
  receivers: Receivers;
  witness: Witness;
  isOut(now: number): boolean;
  /** Called when something excuses a delay. */
  onFault(): void;
  isPoison(event: string): boolean;
};

/** One process of the service, from start to end. */
export type Replica = {
  name: string;
  isAlive(): boolean;
  isFrozen(): boolean;
  runner(): Runner | undefined;
  held(): number;
  kill(): void;
  freeze(ms: number): void;
  stop(): Promise<void>;
};

export type ReplicaParts = {
  ground: Ground;
  name: string;
  random: Random;
  /** Whether the previous process ended uncleanly. */
  isSuspect: boolean;
  onDeath(): void;
};

export function startReplica(parts: ReplicaParts): Replica {
  const { ground, name, random, onDeath } = parts;
  const { scenario, time, rows, witness, onFault } = ground;
  const process = createProcess(name, time, random.fork('clock'));
  const kill = () => {
    if (!process.isAlive()) return;
    onFault();
    process.kill();
    witness.ended(name);
    if (scenario.isEmbedded) for (const webhook of rows.webhooks.keys()) witness.unclean(webhook);
    onDeath();
  };
  let delivery: Runner | undefined;
  let leases: LaneLeases | undefined;
  let isStopping = false;
  void begin({ ...parts, process, die: kill }).then((begun) => {
    ({ delivery, leases } = begun);
    if (isStopping) void stop();
  });

  async function stop(): Promise<void> {
    isStopping = true;
    if (!delivery) return;
    await delivery.stop();
    if (!process.isAlive()) return;
    process.kill();
    onDeath();
  }

  return {
    name,
    isAlive: process.isAlive,
    isFrozen: process.isFrozen,
    runner: () => delivery,
    held: () => [...rows.lanes.keys()].filter((webhook) => leases?.mayServe(webhook)).length,
    kill,
    freeze(ms) {
      onFault();
      process.freeze(ms);
      time.at(time.now() + ms, onFault);
    },
    stop,
  };
}

type BeginParts = ReplicaParts & { process: Process; die(): void };

/** Starts to deliver, when the replica has a lease. */
async function begin({ ground, name, random, isSuspect, process, die }: BeginParts) {
  const { scenario, rows } = ground;
  const { timers } = process;
  const { rules } = scenario;
  const calls = createCalls({
    process,
    time: ground.time,
    scenario,
    random: random.fork('calls'),
    isOut: ground.isOut,
    onFault: ground.onFault,
    onUnknown: die,
  });
  const clock = createDatabaseClock(timers.elapsed);
  const leases = scenario.isEmbedded
    ? undefined
    : await startLeases({
        store: leaseStoreOf({ calls, leases: ground.leases, timers, clock, now: rows.now }),
        name,
        log: silentLog,
        onHandOver(webhooks) {
          for (const webhook of webhooks) for (const listener of rows.listeners.work) listener([{ webhook }]);
        },
        timers,
      });
  const suspects = new Set<string>();
  const store = storeOf(ground, process, calls, random.fork('hints'), leases, suspects);
  const owners = leases ?? soleOwner(store, isSuspect, timers.elapsed);
  const delivery = deliver({
    store,
    owners: watched(owners, name, ground, suspects),
    sender: senderOf(ground, process, random.fork('sender'), leases ? clock : rows, die),
    ...rules,
    runtime: { clock: leases ? clock : rows, random: bytesOf(rules.random), log: silentLog },
    timers,
    bounds: rules,
  });
  return { delivery, leases };
}

const bytesOf = (random: () => number) => (size: number) =>
  Buffer.from(Array.from({ length: size }, () => Math.floor(256 * random())));

/** By then pending requests have ended and were recorded. */
const HAND_OVER_MS = ATTEMPT_MS + 1_000;

/** @param suspects the lanes whose last owner ended uncleanly */
function watched(
  owners: LaneOwners,
  name: string,
  { rows, scenario, time, witness }: Ground,
  suspects: Set<string>,
): LaneOwners {
  const fences = new Map<string, number>();
  const left = new Map<string, number>();

  function leave(webhook: string): void {
    witness.left(name, webhook);
    const { replica, fence = 0 } = rows.lanes.get(webhook) ?? {};
    if (!scenario.isQuiet || left.get(webhook) === fence) return;
    left.set(webhook, fence);
    time.at(time.now() + HAND_OVER_MS, () => {
      const lane = rows.lanes.get(webhook);
      if (lane?.replica === replica && lane?.fence === fence) witness.fail(`${name} keeps ${webhook}`);
    });
  }

  return {
    ...owners,
    async take(webhooks) {
      const taken = await owners.take(webhooks);
      for (const lane of taken) {
        if (fences.get(lane.webhook) !== lane.fence) witness.taken(name, lane);
        fences.set(lane.webhook, lane.fence);
        suspects[lane.isSuspect ? 'add' : 'delete'](lane.webhook);
      }
      return taken;
    },
    listen(listener) {
      owners.listen?.({
        ...listener,
        leave(webhooks) {
          for (const webhook of webhooks) leave(webhook);
          listener.leave(webhooks);
        },
      });
    },
    stop() {
      // What a stalled store has not recorded by now, others send again.
      witness.ended(name);
      return owners.stop();
    },
  };
}

function storeOf(
  ground: Ground,
  process: Process,
  { call }: Calls,
  random: Random,
  owner: LaneLeases | undefined,
  suspects: ReadonlySet<string>,
): LaneStore {
  const { lanes, leases, rows, scenario, time, witness } = ground;
  const { name } = process;
  const owns = (replica: string) => (webhook: string, fence: number) =>
    owner ? leases.owns(replica, webhook, fence) : process.isAlive();
  const isSearched = (replica: string) => (webhook: string) => !leases.isOfAnother(replica, webhook);
  const replica = () => owner?.replica() ?? name;
  /** Reaches the same process at once, and another through the database, unless it is lost. */
  const hint = (run: () => void) => {
    if (random.chance(scenario.faults.lostHints)) return;
    time.at(time.now() + (scenario.isEmbedded ? 0 : random.whole(1, 30)), () => process.enter(run));
  };
  return {
    findWork(after, limit) {
      const isMeant = isSearched(replica());
      return call(() => lanes.findWork(after, limit, isMeant), { isRead: true });
    },
    async read(request) {
      witness.reads(name, request);
      const contents = await call(() => lanes.read(request), { isRead: true });
      const { settings, asked, due, nextDue } = contents;
      const keys = [asked, due].map((all) => all.map(({ event, generation }) => `${event.id} ${generation}`));
      witness.note(name, 'has read', { webhook: request.webhook, settings, keys, nextDue });
      return contents;
    },
    async record(outcomes: readonly Outcome[]) {
      const self = replica();
      const results = await call(() => {
        const results = lanes.record(self, outcomes, owns(self));
        witness.recorded(name, outcomes, results);
        return results;
      });
      owner?.lost(outcomes.filter((_, n) => results[n] === 'lost'));
      return results;
    },
    suspect(webhook, event, ...of) {
      if (!suspects.has(webhook)) witness.fail(`${name} notes ${event} of ${webhook} after a clean end`);
      return call(() => lanes.suspect(webhook, event, ...of));
    },
    listen(listener) {
      rows.listeners.work.push((work) => {
        const at = rows.now();
        hint(() => {
          const own = work.filter(({ webhook }) => owner?.isFor(webhook) ?? true);
          for (const { webhook, isAsked } of own) if (isAsked) witness.heardAsk(name, webhook, at);
          if (own.length > 0) listener({ work: own, changed: [] });
        });
      });
      rows.listeners.change.push((webhook) => {
        const version = rows.webhooks.get(webhook)?.version ?? 0;
        hint(() => {
          witness.learned(name, webhook, version);
          listener({ work: [], changed: [webhook] });
        });
      });
    },
  };
}

function senderOf(
  { receivers, scenario, time, witness, isPoison, onFault }: Ground,
  process: Process,
  random: Random,
  clock: { now(): number },
  die: () => void,
): DeliverOptions['sender'] {
  const cuts = new Set<() => void>();
  const isMade = () =>
    time.now() >= scenario.start + scenario.busyMs || !random.chance(scenario.faults.notMade);
  return {
    send(request) {
      if (!isMade()) {
        onFault();
        return Promise.reject(new Error(random.chance(0.5) ? 'No thread.' : 'No memory.'));
      }
      const at = clock.now();
      const begin = time.now();
      const send = witness.sent(process.name, request, at);
      const { durationMs, mood: _, ...answer } = receivers.answer(request.webhook.url, time.now());
      if (isPoison(request.event.id)) time.at(time.now(), die);
      return new Promise((resolve) => {
        const end = (answer: Partial<Attempt>) => {
          cuts.delete(cut);
          cancel();
          const attempt: Attempt = { at, durationMs: Math.max(1, Math.round(time.now() - begin)), ...answer };
          ending(witness, send, attempt);
          resolve(attempt);
        };
        const cut = () => end({ error: STOPPED });
        const cancel = time.at(time.now() + durationMs, () => process.enter(() => end(answer)));
        cuts.add(cut);
      });
    },
    async stop() {
      for (const cut of cuts) cut();
    },
  };
}

const STOPPED = 'The service stopped.';

function ending(witness: Witness, send: Send, attempt: Attempt): void {
  if (attempt.error === STOPPED) witness.notMade(send);
  else witness.answered(send, attempt);
}
