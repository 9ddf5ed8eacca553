import { checkEnd } from './checks/end-check.ts';
import { type Progress, watchProgress } from './checks/progress.ts';
import { createShadow, type RealStore } from './checks/shadow.ts';
import { createWitness } from './checks/witness.ts';
import { type Ground, type Replica, startReplica } from './replica.ts';
import { createMemoryLeases } from './stores/memory-leases.ts';
import { createMemoryRequests, type MemoryRequests } from './stores/memory-requests.ts';
import { createRows, isVisible, type Rows } from './stores/memory-rows.ts';
import { createMemoryLanes } from './stores/memory-store.ts';
import { createRandom, type Random } from './world/random.ts';
import { createReceivers } from './world/receivers.ts';
import { drawScenario, FROZEN_MS, type Scenario } from './world/scenario.ts';
import { startUsers } from './world/users.ts';
import { createVirtualTime } from './world/virtual-time.ts';

/** The result of a run. */
export type Run = {
  seed: number;
  failures: readonly string[];
  events: number;
  sends: number;
  virtualMs: number;
  judged: ReturnType<Progress['judged']>;
};

/**
 * Runs the service as the seed determines, and reports what went wrong. A seed always gives the same run.
 *
 * @param real a store that must give the same answers
 */
export async function simulate(seed: number, trace?: (line: string) => void, real?: RealStore): Promise<Run> {
  const random = createRandom(seed);
  const scenario = drawScenario(random.fork('scenario'));
  const time = createVirtualTime(scenario.start, random.fork('order'));
  const rows = createRows(() => Math.floor(time.now()));
  const witness = createWitness(scenario, rows, trace);
  trace?.(JSON.stringify(scenario));
  const outages = drawOutages(scenario, random.fork('outages'));
  const poison = new Set<string>();
  const shadow = real && createShadow({ real, rows, time, fail: witness.fail });
  const lanes = createMemoryLanes(rows);
  const made = createMemoryRequests(rows, scenario.rules.schedule[0] ?? 0);
  const requests = shadow?.requests(made) ?? made;
  shadow?.createUsers(scenario.users);
  const ground: Ground = {
    scenario,
    time,
    rows,
    witness,
    lanes: shadow?.lanes(lanes) ?? lanes,
    leases: createMemoryLeases(rows, witness.unclean),
    receivers: createReceivers(scenario, random.fork('receivers')),
    isOut: (now) => outages.some(({ from, until }) => from <= now && now < until),
    onFault: () => progress.onFault(),
    isPoison: (event) => poison.has(event),
  };
  const replicas: Replica[] = [];
  const progress = watchProgress(ground, replicas);
  startReplicas(ground, replicas, random.fork('replicas'));
  startUsers({
    scenario,
    time,
    rows,
    requests,
    random: random.fork('users'),
    isServed: () => replicas.some((replica) => replica.isAlive() && !replica.isFrozen()),
    onAsked: progress.onAsked,
  });
  if (scenario.faults.isPoisoned) {
    time.at(scenario.start + random.whole(0, scenario.busyMs / 2), () => {
      poison.add(requests.createPlant(1).id);
    });
  }
  const end = scenario.start + scenario.busyMs;
  let events = await time.run(end, () => witness.failures().length > 0);
  const isOver = () => witness.failures().length > 0 || isDone(rows, replicas);
  recover(rows, requests);
  events += await time.run(end + LAST_ANSWERS_MS, isOver);
  // Late answers may still have requested an hour's pause, or disabled a webhook.
  recover(rows, requests);
  events += await time.run(end + (scenario.faults.isPoisoned ? 10 : 1) * RECOVERY_MS, isOver);
  await shadow?.check();
  if (witness.failures().length === 0) checkEnd(ground, replicas);
  const { length } = witness.sends();
  return {
    seed,
    failures: witness.failures(),
    events,
    sends: length,
    virtualMs: time.now() - scenario.start,
    judged: progress.judged(),
  };
}

/** Users end what would outlast a run: low rates, long pauses, disabled webhooks. */
function recover({ webhooks, now }: Rows, requests: MemoryRequests): void {
  for (const webhook of webhooks.values()) {
    if (webhook.status === 'deleted') continue;
    if (webhook.rate !== undefined) requests.setRate(webhook, undefined);
    if (webhook.status === 'disabled') requests.enable(webhook);
    else if ((webhook.pausedUntil ?? 0) > now()) requests.changeUrl(webhook, `${webhook.url}/again`);
  }
}

/** By then pending requests have ended, with their outcomes recorded. */
const LAST_ANSWERS_MS = 25_000;

/** Everything that waits is sent within this time once nothing obstructs it: retries, pauses, leases. */
const RECOVERY_MS = 180_000;

function isDone(rows: Rows, replicas: readonly Replica[]): boolean {
  for (const { id, status } of rows.webhooks.values()) {
    if (status !== 'enabled') continue;
    for (const { event } of rows.pending.get(id)?.values() ?? [])
      if (isVisible(rows, id, event)) return false;
  }
  return replicas.every(
    (replica) => replica.isAlive() && replica.held() === 0 && replica.runner()?.counts().underWay === 0,
  );
}

function drawOutages({ start, busyMs, faults }: Scenario, random: Random) {
  return Array.from({ length: faults.outages }, () => {
    const from = start + random.whole(0, busyMs);
    return { from, until: Math.min(start + busyMs, from + random.whole(500, 15_000)) };
  });
}

/** Starts replicas, ends some of them, and starts others instead. */
function startReplicas(ground: Ground, running: Replica[], random: Random): void {
  const { scenario, time } = ground;
  const { start, busyMs, owners, faults } = scenario;
  let count = 0;

  function begin(place: number, isSuspect: boolean): void {
    count++;
    ground.onFault();
    const name = `replica ${count}`;
    running[place] = startReplica({
      ground,
      name,
      random: random.fork(name),
      isSuspect,
      onDeath: () =>
        void time.at(time.now() + random.whole(10, 8_000), () => begin(place, !isStopping.has(name))),
    });
  }

  const isStopping = new Set<string>();
  function some(times: number, run: (replica: Replica) => void): void {
    for (let n = 0; n < times; n++) {
      time.at(start + random.whole(0, busyMs), () => {
        const replica = running[random.whole(0, running.length - 1)];
        if (replica?.isAlive() && !isStopping.has(replica.name)) run(replica);
      });
    }
  }

  for (let place = 0; place < owners; place++) begin(place, false);
  for (let n = 0; n < faults.joins; n++) {
    time.at(start + random.whole(0, busyMs), () => begin(running.length, false));
  }
  some(faults.kills, (replica) => replica.kill());
  some(faults.freezes, (replica) => replica.freeze(random.whole(1_000, FROZEN_MS)));
  some(faults.stops, (replica) => {
    isStopping.add(replica.name);
    ground.onFault();
    void replica.stop();
  });
}
