import { randomBytes } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { sending } from '../limits.ts';
import { type Log, lowerPriority } from '../runtime.ts';
import { deliver } from '../webhooks/delivery/deliver.ts';
import type { DeliveryMeasures } from '../webhooks/delivery/reports.ts';
import { parseNetworks } from '../webhooks/sending/addresses.ts';
import { traceAttempts } from '../webhooks/sending/delivery-spans.ts';
import { createResolve } from '../webhooks/sending/resolver.ts';
import { createSender } from '../webhooks/sending/sender.ts';
import { createTarget } from '../webhooks/sending/target.ts';
import {
  flat,
  type Measured,
  NOTHING,
  type SenderNews,
  type SenderRequest,
  type SenderThreadOptions,
} from './messages.ts';
import { openLanes } from './open-lanes.ts';

/**
 * The sender thread reads due deliveries, decides, sends and records, so that slow or hostile receivers, signatures and
 * a long backlog take no time from the main thread, which answers the API.
 */

if (parentPort) {
  // API responses do not wait for signatures on one core. Elsewhere the priority would apply to the whole process.
  if (process.platform === 'linux') lowerPriority(sending.nice);
  await serve(parentPort, workerData);
}

async function serve(port: NonNullable<typeof parentPort>, options: SenderThreadOptions): Promise<void> {
  const { source, isCareful, version, publicUrl, schedule, disableAfterMs, concurrency } = options;
  const tell = (news: SenderNews) => port.postMessage(news);
  // Used until the lanes are open: the database may be unavailable.
  let stop = async (): Promise<void> => process.exit();
  let reading = () => NOTHING;
  port.on('message', (request: SenderRequest) => {
    if (request === 'stop') void stop();
    else tell({ reading: reading() });
  });

  const log = logTo(tell, options.logsDebug);
  const measures = options.isMeasured ? measuresTo(tell) : undefined;
  const lanes = await openLanes(source, {
    log,
    isCareful,
    couldNotRead: (error) => tell({ couldNotRead: error }),
  });
  const { clock, dueClock, store, owners } = lanes;
  const { networks, nameServers, traces } = options;
  // Loaded on demand, because it takes 10 MiB of memory.
  const tracing = traces && (await import('../tracing/open.ts')).openTracing(traces, { log });
  const resolve = createResolve({ servers: nameServers ?? [] });
  const target = createTarget({ allowed: parseNetworks(networks), resolve });
  const sender = createSender({ target, clock, version, source: publicUrl });
  const runner = deliver({
    store,
    owners,
    sender: tracing ? traceAttempts(sender, tracing.tracer) : sender,
    schedule,
    disableAfterMs,
    concurrency,
    runtime: { clock: dueClock, random: randomBytes, log },
    measures,
  });
  reading = () => ({ ...runner.counts(), queue: { queue: 'dispatch', ...runner.queue() } });
  stop = async () => {
    await runner.stop();
    await Promise.all([lanes.close(), tracing?.stop()]);
    // The combined messages are on their way; a hanging lookup would keep the thread alive.
    setImmediate(() => process.exit());
  };
}

function logTo(tell: (news: SenderNews) => void, logsDebug: boolean): Log {
  const line = (level: keyof Log) => (context: object, message: string) =>
    tell({
      log: level,
      context: 'err' in context ? { ...context, err: flat(context.err) } : context,
      message,
    });
  return {
    debug: logsDebug ? line('debug') : () => {},
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
  };
}

/** Combines the measures of one turn of the event loop in one message. */
function measuresTo(tell: (news: SenderNews) => void) {
  let measured: Measured[] = [];

  function flush(): void {
    tell({ measured });
    measured = [];
  }

  function add(one: Measured): void {
    if (measured.push(one) === 1) setImmediate(flush);
  }

  return {
    attemptEnded: (...of) => add(['attemptEnded', ...of]),
    happened: (what) => add(['happened', what]),
    batchEnded: (...of) => add(['batchEnded', ...of]),
  } satisfies DeliveryMeasures;
}
