import { setTimeout as pause } from 'node:timers/promises';
import { observability as limits } from '../limits.ts';
import { type Clock, type Log, timeOfId } from '../runtime.ts';
import { by, one, type Sample } from './counts.ts';
import type { QueueReading, SendingReading, SizeReading, StoreReadings } from './port.ts';

/** Where the gauges are read. */
export type Sources = {
  store: StoreReadings;
  /** Open client connections. */
  connections(): Promise<number>;
  /** Undefined on a replica that sends nothing. */
  sending(): Promise<SendingReading> | undefined;
};

type Parts = { clock: Clock; log: Log; version: string };

/** The values read on demand. Each is in memory or read rarely. */
export function createGauges({ store, connections, sending }: Sources, { clock, log, version }: Parts) {
  async function queues(): Promise<readonly QueueReading[]> {
    const sender = await sending();
    return [...store.queues(), ...(sender ? [sender.queue] : [])];
  }
  return {
    connections: async () => one(await connections()),
    queueCommands: async () =>
      (await queues()).map(({ queue, commands }) => ({ labels: { queue }, value: commands })),
    queueAge: async () =>
      (await queues()).map(({ queue, ageMs }) => ({ labels: { queue }, value: ageMs / 1000 })),
    async deliveriesUnderWay() {
      const sender = await sending();
      return sender ? one(sender.underWay) : [];
    },
    async lanes() {
      const sender = await sending();
      return sender ? by('state', { silent: sender.silent, failing: sender.failing }) : [];
    },
    ...webhookGauges(store, clock, log),
    ...sizeGauges(store, log),
    loopActive: () => one(performance.eventLoopUtilization().active / 1000),
    buildInfo: () => [{ labels: { version, node: process.version, store: store.kind }, value: 1 }],
  };
}

/** Reports ages as of the time of reading. */
function webhookGauges(store: StoreReadings, clock: Clock, log: Log) {
  const madeAt = performance.now();
  const reading = readRarely(
    async () => {
      const now = clock.now();
      const found = await store.webhooks(now);
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
function sizeGauges(store: StoreReadings, log: Log) {
  const reading = readRarely(store.size, (err) => log.warn({ err }, 'could not read the size of the store'));
  async function sample(part: keyof SizeReading): Promise<Sample[]> {
    const { value, at = 0 } = (await reading()) ?? {};
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
