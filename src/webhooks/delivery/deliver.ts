import { delivery as limits } from '../../limits.ts';
import type { Runtime } from '../../runtime.ts';
import type { DispatchRules } from './dispatch.ts';
import type { LaneStore } from './port.ts';
import { createReports, type DeliveryMeasures } from './reports.ts';
import { type LaneOwners, type Runner, type RunnerBounds, type RunnerParts, startRunner } from './runner.ts';
import type { Schedule } from './schedule.ts';
import type { Timers } from './timers.ts';

/** The lanes of this process, possibly one of several that send from the same store. */
export type OwnedLanes = LaneOwners & {
  /** Whether deliveries of this lane may be sent now: its lease may be about to end. */
  mayServe(webhook: string): boolean;
  /** Takes no more lanes and leaves them to others. */
  drain(): Promise<void>;
  /** Gives all lanes back, so that others continue at once. May be called twice. */
  stop(): Promise<void>;
};

export type DeliverOptions = {
  store: LaneStore;
  owners: OwnedLanes;
  sender: RunnerParts['sender'];
  schedule: Schedule;
  /** A webhook is disabled after every attempt has failed for this long. */
  disableAfterMs: number;
  /** Requests in flight to one webhook. */
  concurrency: number;
  /** `clock`: the one that due times refer to. It never goes back. */
  runtime: Pick<Runtime, 'clock' | 'random' | 'log'>;
  timers?: Timers | undefined;
  measures?: DeliveryMeasures | undefined;
  /** Overrides the limits of the service. */
  bounds?: Partial<DispatchRules & RunnerBounds>;
};

/** Sends what is due in the lanes that this process owns: after a suspension it may have lost some without knowing. */
export function deliver({ store, owners, runtime, measures, bounds, ...options }: DeliverOptions): Runner {
  const { schedule, disableAfterMs, concurrency, sender, timers } = options;
  const { clock, random, log } = runtime;
  const all = { ...limits, ...bounds };
  const runner = startRunner({
    store,
    owners,
    sender: {
      async send(request) {
        const isOwn = owners.mayServe(request.webhook.id);
        const attempt = isOwn ? await sender.send(request) : undefined;
        if (attempt === undefined) measures?.attemptNotMade();
        return attempt;
      },
      stop: sender.stop,
    },
    rules: {
      ...all,
      schedule,
      disableAfterMs,
      concurrency,
      random: () => random(4).readUInt32BE() / 2 ** 32,
    },
    bounds: all,
    onRecorded: createReports(log, measures),
    clock,
    log,
    timers,
  });

  async function finish(): Promise<void> {
    await owners.drain();
    await runner.stop();
    await owners.stop();
  }

  let stopping: Promise<void> | undefined;
  return { counts: runner.counts, stop: () => (stopping ??= finish()) };
}
