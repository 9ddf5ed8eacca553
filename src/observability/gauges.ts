import { setTimeout as pause } from 'node:timers/promises';
import { observability as limits } from '../limits.ts';
import { type Clock, type Log, timeOfId } from '../runtime.ts';
import { by, one, type Sample } from './counts.ts';
import type { QueueReading, SendingReading, SizeReading, StoreReadings } from './port.ts';

/** Where the gauges are read. A missing part, such as the dispatcher of a replica without one, has none. */
export type Sources = {
  store?: StoreReadings;
  /** Open client connections. */
  connections?(): Promise<number>;
  sending?(): Promise<SendingReading>;
};

type Parts = { clock: Clock; log: Log; version: string };

/** The values read on demand. Each is in memory or read rarely. */
export function createGauges(sources: Sources, { clock, log, version }: Parts) {
  async function queues(): Promise<readonly QueueReading[]> {
    const sending = await sources.sending?.();
    return [...(sources.store?.queues() ?? []), ...(sending ? [sending.queue] : [])];
  }
  return {
    connections: async () => (sources.connections ? one(await sources.connections()) : []),
    queueCommands: async () =>
      (await queues()).map(({ queue, commands }) => ({ labels: { queue }, value: commands })),
    queueAge: async () =>
      (await queues()).map(({ queue, ageMs }) => ({ labels: { queue }, value: ageMs / 1000 })),
    deliveriesUnderWay: async () => (sources.sending ? one((await sources.sending()).underWay) : []),
    async lanes() {
      if (!sources.sending) return [];
      const { silent, failing } = await sources.sending();
      return by('state', { silent, failing });
    },
    ...webhookGauges(sources, clock, log),
    ...sizeGauges(sources, log),
    loopActive: () => one(performance.eventLoopUtilization().active / 1000),
    buildInfo: () => {
      const store = sources.store?.kind ?? '';
      return [{ labels: { version, node: process.version, store }, value: 1 }];
    },
  };
}

/** Reports ages as of the time of reading. */
function webhookGauges(sources: Sources, clock: Clock, log: Log) {
  const madeAt = performance.now();
  const reading = readRarely(
    async () => {
      const now = clock.now();
      const found = await sources.store?.webhooks(now);
      if (!found) throw new Error('There is no store yet.');
      const { enabled, paused, disabled, oldestPending, oldestHeld, dueSince } = found;
      return {
        status: { enabled, paused, disabled },
        ages: { pending: ageOfEvent(oldestPending, now), held: ageOfEvent(oldestHeld, now) },
        overdue: age(dueSince, now),
      };
    },
    (err) => log.warn({ err }, 'could not read the state of the webhooks'),
  );
  return {
    webhooks: async () => by('status', (await reading())?.value.status ?? {}),
    oldestWaiting: async () => by('state', (await reading())?.value.ages ?? {}),
    async overdue() {
      const last = await reading();
      return last ? one(last.value.overdue) : [];
    },
    /** Until the first successful read it grows from the start, so that the failure shows. */
    async readingAge() {
      const last = await reading();
      return one((performance.now() - (last?.at ?? madeAt)) / 1000);
    },
  };
}

/** An outdated size is left out, because a scraper could not tell that it is outdated. */
function sizeGauges(sources: Sources, log: Log) {
  const reading = readRarely(
    async () => sources.store?.size(),
    (err) => log.warn({ err }, 'could not read the size of the store'),
  );
  async function sample(part: keyof SizeReading): Promise<Sample[]> {
    const { value, at } = (await reading()) ?? { value: undefined, at: 0 };
    const read = value?.[part];
    return read === undefined || performance.now() - at > limits.staleSizeMs ? [] : one(read);
  }
  return { storeSize: () => sample('bytes'), storeFree: () => sample('freeBytes') };
}

function ageOfEvent(id: string | undefined, now: number): number {
  return age(id === undefined ? undefined : timeOfId(id), now);
}

function age(since: number | undefined, now: number): number {
  return since === undefined ? 0 : Math.max(0, now - since) / 1000;
}

/**
 * Reads an expensive value rarely: at most a twentieth of the time, and only on demand. A caller waits briefly for a
 * new value and otherwise gets the last one: undefined when there is none. `at`: when it was read, by a clock that never
 * goes back.
 * @param onFailure called with the first of consecutive failures
 */
export function readRarely<T>(read: () => Promise<T>, onFailure: (error: unknown) => void) {
  let last: { value: T; at: number } | undefined;
  let nextAt = -Infinity;
  let underWay: Promise<void> | undefined;
  let fails = false;

  async function refresh(): Promise<void> {
    const begin = performance.now();
    try {
      last = { value: await read(), at: performance.now() };
      fails = false;
    } catch (error) {
      // The age of the last value keeps growing.
      if (!fails) onFailure(error);
      fails = true;
    } finally {
      const end = performance.now();
      nextAt = end + Math.max(limits.readEveryMs, 19 * (end - begin));
      underWay = undefined;
    }
  }

  return async () => {
    if (!underWay && performance.now() < nextAt) return last;
    underWay ??= refresh();
    await Promise.race([underWay, pause(limits.readMs, undefined, { ref: false })]);
    return last;
  };
}
