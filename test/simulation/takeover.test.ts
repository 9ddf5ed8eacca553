import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWitness } from './checks/witness.ts';
import { type Ground, type Replica, startReplica } from './replica.ts';
import { createMemoryLeases } from './stores/memory-leases.ts';
import { createMemoryRequests } from './stores/memory-requests.ts';
import { createRows } from './stores/memory-rows.ts';
import { createMemoryLanes } from './stores/memory-store.ts';
import { createRandom } from './world/random.ts';
import { createReceivers } from './world/receivers.ts';
import { drawScenario, noFaults } from './world/scenario.ts';
import { createVirtualTime } from './world/virtual-time.ts';

const SEEDS = 20;
const WEBHOOKS = 8;
/** By then each replica has its share of the lanes. */
const SETTLED_MS = 5_000;
/** The contract: what a killed process had under way goes out again within this time. */
const TAKEN_OVER_MS = 12_000;

test('what waits for a killed replica is sent within 12 s, whenever it dies', async () => {
  let count = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { orphaned, failures } = await killOne(seed);
    assert.deepEqual(failures, [], `seed ${seed}`);
    count += orphaned;
  }
  assert.ok(count >= SEEDS, `killed replicas must have had something to send: ${count}`);
});

/** One of three replicas is killed while plants are created all the time. */
async function killOne(seed: number) {
  const random = createRandom(seed);
  const drawn = drawScenario(random.fork('scenario'));
  const rules = { ...drawn.rules, inAll: 32, searchMs: 1_000 };
  const scenario = { ...drawn, isEmbedded: false, isQuiet: false, rules, faults: noFaults };
  const time = createVirtualTime(scenario.start, random.fork('order'));
  const rows = createRows(() => Math.floor(time.now()));
  const witness = createWitness(scenario, rows);
  const ground: Ground = {
    scenario,
    time,
    rows,
    witness,
    lanes: createMemoryLanes(rows),
    leases: createMemoryLeases(rows, witness.unclean),
    receivers: createReceivers(scenario, random.fork('receivers')),
    isOut: () => false,
    onFault() {},
    isPoison: () => false,
  };
  const requests = createMemoryRequests(rows, 0);
  for (let n = 0; n < WEBHOOKS; n++) requests.createWebhook(1, `https://receiver-${n}.example`);
  const replicas: Replica[] = [1, 2, 3].map((n) =>
    startReplica({
      ground,
      name: `replica ${n}`,
      random: random.fork(`replica ${n}`),
      isSuspect: false,
      onDeath() {},
    }),
  );
  const create = () => {
    requests.createPlant(1);
    time.at(time.now() + random.whole(1, 400), create);
  };
  create();

  await time.run(scenario.start + SETTLED_MS + random.whole(0, 5_000), () => false);
  const victim = random.pick(replicas);
  const lanes = [...rows.lanes].filter(([, { replica }]) => replica?.startsWith(`${victim.name}-`));
  victim.kill();
  const killedAt = time.now();
  // Leaves no lane empty, even if all was delivered just now.
  requests.createPlant(1);
  const orphans = lanes.flatMap(([webhook]) =>
    [...(rows.pending.get(webhook)?.keys() ?? [])].map((event) => [webhook, event] as const),
  );
  await time.run(killedAt + TAKEN_OVER_MS, () => false);
  const isSent = (webhook: string, event: string) =>
    witness.sends().some((one) => one.webhook === webhook && one.event === event && one.at >= killedAt);
  // The last outcome of the victim may have been recorded just after its death.
  const late = orphans.filter(
    ([webhook, event]) => rows.pending.get(webhook)?.has(event) && !isSent(webhook, event),
  );
  return {
    orphaned: orphans.length,
    failures: [
      ...witness.failures(),
      ...late.map(([webhook, event]) => `${event} was not sent to ${webhook}`),
    ],
  };
}
