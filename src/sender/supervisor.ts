import { stat } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { delivery as limits, sending } from '../limits.ts';
import type { Measures, SendingReading } from '../observability/port.ts';
import { type Log, threadEnvironment } from '../runtime.ts';
import type { LanesOfMain } from '../store/lane-threads.ts';
import {
  type Measured,
  NOTHING,
  type SenderNews,
  type SenderRequest,
  type SenderSettings,
  type SenderThreadOptions,
} from './messages.ts';

type SenderParts = {
  settings: SenderSettings;
  lanes: LanesOfMain;
  /** Whether the previous process died, possibly because of what it sent. */
  wasKilled: boolean;
  log: Log;
  measures: Measures | undefined;
};

/**
 * Delivers in a separate thread, which starts with the first work: a service without webhooks saves its memory. If
 * the thread dies or cannot be started, another one replaces it and resends what was not recorded.
 */
export function startSending(parts: SenderParts) {
  const { settings, lanes, wasKilled, log } = parts;
  const stopped = new AbortController();
  let thread: ReturnType<typeof startThread> | undefined;
  let running: Promise<void> | undefined;

  /** Called in commits, which must not fail with it. */
  function start(): void {
    running ??= run();
  }

  async function run(): Promise<void> {
    for (let isCareful = wasKilled; !stopped.signal.aborted; isCareful = true) {
      const err = await runThread(isCareful).catch((error: unknown) => error);
      if (stopped.signal.aborted) return;
      log.error({ err }, 'the sender thread failed; starting another one');
      await pauseFor(sending.restartMs);
    }
  }

  async function runThread(isCareful: boolean): Promise<unknown> {
    thread = startThread({ ...settings, source: lanes.connect(), isCareful }, parts);
    const cause = await thread.ended;
    thread = undefined;
    return cause;
  }

  /** Until the thread itself looks for work. */
  async function lookForWork(): Promise<void> {
    while (!running && !stopped.signal.aborted) {
      // Another part reports a store that cannot be read.
      const hasWork = await lanes.hasWork().catch(() => false);
      if (hasWork) start();
      else await pauseFor(limits.searchMs);
    }
  }

  const pauseFor = (ms: number) => pause(ms, undefined, { signal: stopped.signal }).catch(() => {});

  lanes.onWork(start);
  const looking = lookForWork();

  async function finish(): Promise<void> {
    stopped.abort();
    thread?.stop();
    await Promise.all([looking, running]);
  }

  let stopping: Promise<void> | undefined;
  return {
    reading: async (): Promise<SendingReading> => (await thread?.reading()) ?? NOTHING,
    /** Lets the thread finish what is in progress. May be called twice. */
    stop: () => (stopping ??= finish()),
  };
}

/** Throws when the machine has no thread left. */
function startThread(options: SenderThreadOptions, { log, measures, lanes }: SenderParts) {
  // Node's pool of helper threads takes the priority of the thread that first uses it, which must not be the
  // sender's.
  stat(import.meta.filename, () => {});
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
    workerData: options,
    transferList: [options.source.port],
    resourceLimits: {
      maxYoungGenerationSizeMb: sending.heapMegabytes.young,
      maxOldGenerationSizeMb: sending.heapMegabytes.old,
    },
    env: threadEnvironment(),
  });
  let asking: PromiseWithResolvers<SendingReading | undefined> | undefined;

  function hear(news: SenderNews): void {
    if ('log' in news) log[news.log](news.context, news.message);
    else if ('measured' in news) for (const measured of news.measured) measure(measured);
    else if ('couldNotRead' in news) lanes.couldNotRead(news.couldNotRead);
    else {
      asking?.resolve(news.reading);
      asking = undefined;
    }
  }

  function measure([name, ...of]: Measured): void {
    // They are the arguments of the method of this name.
    (measures?.[name] as ((...of: unknown[]) => void) | undefined)?.(...of);
  }

  const post = (request: SenderRequest) => worker.postMessage(request);
  worker.on('message', hear);
  const { promise: ended, resolve } = Promise.withResolvers<unknown>();
  let cause: unknown;
  worker.on('error', (error) => {
    cause = error;
  });
  worker.on('exit', () => {
    asking?.resolve(undefined);
    resolve(cause);
  });

  return {
    /** Resolves with the error that ended it, if any. */
    ended,
    /** Undefined when it ends meanwhile. */
    reading(): Promise<SendingReading | undefined> {
      if (!asking) {
        asking = Promise.withResolvers();
        post('reading');
      }
      return asking.promise;
    },
    stop: () => post('stop'),
  };
}
