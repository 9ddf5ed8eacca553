import { delivery as limits } from '../../limits.ts';
import { type Runtime, steadyClock } from '../../runtime.ts';
import type { Schedule } from '../schedule.ts';
import type { DispatchRules } from './dispatch.ts';
import type { LaneStore } from './port.ts';
import { createReports, type DeliveryMeasures } from './reports.ts';
import {
  type Delivery,
  type DeliveryBounds,
  type DeliveryParts,
  type LaneOwners,
  startDelivery,
} from './runner.ts';

export type DeliverOptions = {
  store: LaneStore;
  owners: LaneOwners;
  sender: DeliveryParts['sender'];
  schedule: Schedule;
  /** A webhook whose every attempt failed for so long is disabled. */
  disableAfterMs: number;
  /** Requests under way to one webhook. */
  concurrency: number;
  runtime: Pick<Runtime, 'clock' | 'random' | 'log'>;
  measures?: DeliveryMeasures | undefined;
  /** In place of the limits of the service. */
  bounds?: Partial<DispatchRules & DeliveryBounds>;
};

/** Sends what is due in the lanes of this process, by the rules and limits of the service. */
export function deliver({ store, owners, runtime, measures, bounds, ...options }: DeliverOptions): Delivery {
  const { schedule, disableAfterMs, concurrency, sender } = options;
  const { random, log } = runtime;
  const all = { ...limits, ...bounds };
  return startDelivery({
    store,
    owners,
    sender: {
      async send(request) {
        const attempt = await sender.send(request);
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
    clock: steadyClock(runtime.clock),
    log,
  });
}
