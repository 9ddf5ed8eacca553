import { silentLog } from '../../src/runtime.ts';
import type { LaneStore, Outcome, Work } from '../../src/webhooks/delivery/port.ts';
import {
  type LaneOwners,
  type Runner,
  type RunnerParts,
  startRunner,
} from '../../src/webhooks/delivery/runner.ts';
import { soleOwner } from '../../src/webhooks/delivery/sole-owner.ts';
import type { Attempt } from '../../src/webhooks/sending/attempt.ts';
import type { Send, Witness } from './checks/witness.ts';
import { createLeaseOwners } from './owners.ts';
import { createProcess, type Process } from './process.ts';
import { type Calls, createCalls } from './stores/calls.ts';
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
  /** Hands over its lanes, and continues with those it takes again. */
  handOver(): void;
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

export function startReplica({ ground, name, random, isSuspect, onDeath }: ReplicaParts): Replica {
  const { scenario, time, rows, leases, witness, onFault } = ground;
  const process = createProcess(name, time, scenario.faults.skewMs, random.fork('clock'));
  const kill = () => {
    if (!process.isAlive()) return;
    onFault();
    process.kill();
    witness.ended(name);
    if (scenario.isEmbedded) for (const webhook of rows.webhooks.keys()) witness.unclean(webhook);
    onDeath();
  };
  const calls = createCalls({
    process,
    time,
    scenario,
    random: random.fork('calls'),
    isOut: ground.isOut,
    onFault,
    onUnknown: kill,
  });
  const tellAll = (webhooks: readonly string[]) => {
    for (const webhook of webhooks) for (const listener of rows.listeners.work) listener([{ webhook }]);
  };
  const leased = scenario.isEmbedded
    ? undefined
    : createLeaseOwners(process, calls, leases, rows.now, tellAll);
  const suspects = new Set<string>();
  const store = storeOf(ground, process, calls, random.fork('hints'), suspects);
  const owners = watched(
    leased ?? soleOwner(store, isSuspect, process.timers.elapsed),
    name,
    witness,
    suspects,
  );
  let runner: Runner | undefined;
  const parts: RunnerParts = {
    store,
    owners,
    sender: senderOf(ground, process, random.fork('sender'), leased?.clock ?? rows, kill),
    rules: scenario.rules,
    bounds: scenario.bounds,
    onRecorded() {},
    clock: leased?.clock ?? rows,
    log: silentLog,
    timers: process.timers,
  };
  void (leased?.ready ?? Promise.resolve()).then(() => process.enter(() => (runner = startRunner(parts))));

  function handOver(): void {
    const lanes = leased?.leave() ?? [];
    for (const { webhook } of lanes) witness.left(name, webhook);
    time.at(time.now() + HAND_OVER_MS, () => {
      const kept = lanes.filter((lane) => leased?.owns(lane) && process.isAlive());
      if (scenario.isQuiet) for (const { webhook } of kept) witness.fail(`${name} keeps ${webhook}`);
    });
  }

  async function stop(): Promise<void> {
    await runner?.stop();
    await leased?.stop();
    if (!process.isAlive()) return;
    witness.ended(name);
    process.kill();
    onDeath();
  }

  return {
    name,
    isAlive: process.isAlive,
    isFrozen: process.isFrozen,
    runner: () => runner,
    held: () => leased?.held() ?? 0,
    kill,
    freeze(ms) {
      onFault();
      process.freeze(ms);
      time.at(time.now() + ms, onFault);
    },
    handOver: () => process.enter(handOver),
    stop,
  };
}

/** By then pending requests have ended and were recorded. */
const HAND_OVER_MS = ATTEMPT_MS + 1_000;

/** @param suspects the lanes whose last owner ended uncleanly */
function watched(owners: LaneOwners, name: string, witness: Witness, suspects: Set<string>) {
  const fences = new Map<string, number>();
  return {
    ...owners,
    async take(webhooks: readonly string[]) {
      const taken = await owners.take(webhooks);
      for (const lane of taken) {
        if (fences.get(lane.webhook) !== lane.fence) witness.taken(name, lane);
        fences.set(lane.webhook, lane.fence);
        suspects[lane.isSuspect ? 'add' : 'delete'](lane.webhook);
      }
      return taken;
    },
  };
}

function storeOf(
  ground: Ground,
  process: Process,
  { call }: Calls,
  random: Random,
  suspects: ReadonlySet<string>,
): LaneStore {
  const { lanes, leases, rows, scenario, time, witness } = ground;
  const { name } = process;
  const owns = (webhook: string, fence: number) =>
    scenario.isEmbedded ? process.isAlive() : leases.owns(name, webhook, fence);
  /** Reaches the same process at once, and another through the database, unless it is lost. */
  const hint = (run: () => void) => {
    if (random.chance(scenario.faults.lostHints)) return;
    time.at(time.now() + (scenario.isEmbedded ? 0 : random.whole(1, 30)), () => process.enter(run));
  };
  return {
    findWork: (after, limit) => call(() => lanes.findWork(after, limit), { isRead: true }),
    async read(request) {
      witness.note(name, 'reads', request);
      const contents = await call(() => lanes.read(request), { isRead: true });
      const { settings, asked, due, nextDue } = contents;
      const keys = [asked, due].map((all) => all.map(({ event, generation }) => `${event.id} ${generation}`));
      witness.note(name, 'has read', { webhook: request.webhook, settings, keys, nextDue });
      return contents;
    },
    record: (outcomes: readonly Outcome[]) =>
      call(() => {
        const results = lanes.record(name, outcomes, owns);
        witness.recorded(name, outcomes, results);
        return results;
      }),
    suspect(webhook, event, generation) {
      if (!suspects.has(webhook)) witness.fail(`${name} notes ${event} of ${webhook} after a clean end`);
      return call(() => lanes.suspect(webhook, event, generation));
    },
    onWork: (listener: (work: readonly Work[]) => void) =>
      void rows.listeners.work.push((work) => {
        const at = rows.now();
        hint(() => {
          for (const { webhook, isAsked } of work) if (isAsked) witness.heardAsk(name, webhook, at);
          listener(work);
        });
      }),
    onChange: (listener) =>
      void rows.listeners.change.push((webhook) => {
        const version = rows.webhooks.get(webhook)?.version ?? 0;
        hint(() => {
          witness.learned(name, webhook, version);
          listener(webhook);
        });
      }),
  };
}

function senderOf(
  { receivers, scenario, time, witness, isPoison, onFault }: Ground,
  process: Process,
  random: Random,
  clock: { now(): number },
  die: () => void,
): RunnerParts['sender'] {
  const cuts = new Set<() => void>();
  const isMade = () =>
    time.now() >= scenario.start + scenario.busyMs || !random.chance(scenario.faults.notMade);
  return {
    send(request) {
      if (!isMade()) {
        onFault();
        return random.chance(0.5) ? Promise.resolve(undefined) : Promise.reject(new Error('No thread.'));
      }
      const at = clock.now();
      const begin = time.now();
      const send = witness.sent(process.name, request);
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
