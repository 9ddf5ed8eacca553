import { stat } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { delivery as limits, sending } from '../limits.ts';
import type { Measures, SendingReading } from '../observability/port.ts';
import type { Log } from '../runtime.ts';
import { threadEnvironment } from '../runtime.ts';
import type { LanesOfMain } from '../store/lane-threads.ts';
import {
  type Measured,
  NOTHING,
  type SenderNews,
  type SenderRequest,
  type SenderSettings,
  type SenderThreadOptions,
} from './messages.ts';

export type SenderParts = {
  settings: SenderSettings;
  lanes: LanesOfMain;
  /** Whether the previous process died, possibly because of what it sent. */
  wasKilled: boolean;
  log: Log;
  measures: Measures | undefined;
};

export type SenderSupervisor = {
  reading(): Promise<SendingReading>;
  /** Lets the thread finish what is in progress. May be called twice. */
  stop(): Promise<void>;
};

/**
 * Delivers in a separate thread, which starts with the first work: a service without webhooks saves its memory. If
 * the thread dies, another one replaces it and resends what was not recorded.
 */
export function startSending({ lanes, wasKilled, ...parts }: SenderParts): SenderSupervisor {
  const { log } = parts;
  const stopped = new AbortController();
  let thread: SenderThread | undefined;
  let isCareful = wasKilled;

  function start(): void {
    if (thread || stopped.signal.aborted) return;
    thread = startThread({ ...parts.settings, source: lanes.connect(), isCareful }, { ...parts, lanes });
    void restart(thread.died);
  }

  async function restart(died: Promise<unknown>): Promise<void> {
    const err = await died;
    if (stopped.signal.aborted) return;
    log.error({ err }, 'the sender thread failed; starting another one');
    await pause(sending.restartMs, undefined, { signal: stopped.signal }).catch(() => {});
    thread = undefined;
    isCareful = true;
    start();
  }

  /** Until the thread itself looks for work. */
  async function lookForWork(): Promise<void> {
    while (!thread && !stopped.signal.aborted) {
      // Another part reports a store that cannot be read.
      const hasWork = await lanes.hasWork().catch(() => false);
      if (hasWork) start();
      else await pause(limits.searchMs, undefined, { signal: stopped.signal }).catch(() => {});
    }
  }

  lanes.onWork(start);
  const looking = lookForWork();

  async function finish(): Promise<void> {
    stopped.abort();
    await Promise.all([looking, thread?.stop()]);
  }

  let stopping: Promise<void> | undefined;
  return {
    reading: async () => (await thread?.reading()) ?? NOTHING,
    stop: () => (stopping ??= finish()),
  };
}

type SenderThread = {
  /** Undefined when it ends meanwhile. */
  reading(): Promise<SendingReading | undefined>;
  /** Resolves with the cause when it has ended. */
  died: Promise<unknown>;
  stop(): Promise<void>;
};

type ThreadParts = Pick<SenderParts, 'log' | 'measures' | 'lanes'>;

function startThread(options: SenderThreadOptions, { log, measures, lanes }: ThreadParts): SenderThread {
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
  const died = Promise.withResolvers<unknown>();
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
  worker.on('error', died.resolve);
  worker.on('exit', () => {
    died.resolve(undefined);
    asking?.resolve(undefined);
  });
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  let isDead = false;
  void exited.then(() => {
    isDead = true;
  });

  return {
    died: died.promise,
    async reading() {
      if (isDead) return undefined;
      if (!asking) {
        asking = Promise.withResolvers();
        post('reading');
      }
      return asking.promise;
    },
    async stop() {
      post('stop');
      await exited;
    },
  };
}
