import type { LaneReading, StoreReadings } from '../measures.ts';
import { type Clock, timeOfId } from '../runtime.ts';
import { type CountedKey, one } from './counts.ts';
import type { Sample, Samples } from './registry.ts';
import { seldom } from './seldom.ts';

/** Where the gauges are read. A part that there is not, such as the dispatcher of a replica that has none, has none. */
export type Sources = {
  store?: StoreReadings;
  /** Connections of clients. */
  connections?(): Promise<number>;
  lanes?(): LaneReading;
};

/** What is read when somebody asks. All of it is at hand, or is read seldom (`seldom.ts`). */
export function createGauges(
  sources: Sources,
  { clock, version }: { clock: Clock; version: string },
): Omit<Samples, CountedKey> {
  const queues = () => sources.store?.queues() ?? [];
  return {
    connections: async () => (sources.connections ? one(await sources.connections()) : []),
    queueCommands: () => queues().map(({ queue, commands }) => ({ labels: { queue }, value: commands })),
    queueAge: () => queues().map(({ queue, ageMs }) => ({ labels: { queue }, value: ageMs / 1000 })),
    ...laneGauges(sources),
    ...webhookGauges(sources, clock),
    ...sizeGauges(sources),
    loopActive: () => one(performance.eventLoopUtilization().active / 1000),
    buildInfo: () => {
      const store = sources.store?.kind ?? '';
      return [{ labels: { version, node: process.version, store }, value: 1 }];
    },
  };
}

function laneGauges(sources: Sources) {
  return {
    deliveriesUnderWay: () => (sources.lanes ? one(sources.lanes().underWay) : []),
    lanes(): Sample[] {
      if (!sources.lanes) return [];
      const { silent, failing } = sources.lanes();
      return by('state', { silent, failing });
    },
  };
}

/** Each time as it was when it was read. */
function webhookGauges(sources: Sources, clock: Clock) {
  const reading = seldom(async () => {
    const now = clock.now();
    const found = await sources.store?.webhooks(now);
    if (!found) throw new Error('There is no store yet.');
    const { enabled, paused, disabled, oldestPending, oldestHeld, dueSince } = found;
    return {
      status: { enabled, paused, disabled },
      ages: { pending: ageOfEvent(oldestPending, now), held: ageOfEvent(oldestHeld, now) },
      overdue: age(dueSince, now),
    };
  });
  return {
    webhooks: async () => by('status', (await reading())?.value.status ?? {}),
    oldestWaiting: async () => by('state', (await reading())?.value.ages ?? {}),
    async overdue() {
      const last = await reading();
      return last ? one(last.value.overdue) : [];
    },
    async readingAge() {
      const last = await reading();
      return last ? one((performance.now() - last.at) / 1000) : [];
    },
  };
}

function sizeGauges(sources: Sources) {
  const reading = seldom(async () => sources.store?.size());
  const sample = (value: number | undefined) => (value === undefined ? [] : one(value));
  return {
    storeSize: async () => sample((await reading())?.value?.bytes),
    storeFree: async () => sample((await reading())?.value?.freeBytes),
  };
}

function by(label: string, values: Record<string, number>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

function ageOfEvent(id: string | undefined, now: number): number {
  return age(id === undefined ? undefined : timeOfId(id), now);
}

function age(since: number | undefined, now: number): number {
  return since === undefined ? 0 : Math.max(0, now - since) / 1000;
}
