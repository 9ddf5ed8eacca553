import { lanes as limits } from '../../limits.ts';
import type { Clock } from '../../runtime.ts';
import { type DeliverOptions, deliver } from './deliver.ts';
import type { Delivery, LaneOwners } from './runner.ts';

/** The lanes of one of several processes that send from the same store. */
export type OwnedLanes = LaneOwners & {
  /** Whether something may be sent of this lane now: its lease may be about to end. */
  mayServe(webhook: string): boolean;
  /** Takes no more lanes: they are left to others. */
  drain(): Promise<void>;
  /** Gives all lanes back. May be called twice. */
  stop(): Promise<void>;
};

export type OwnedOptions = DeliverOptions & {
  owners: OwnedLanes;
  /** This machine's own, which is the sender's: that of the runtime is one for all processes. */
  machine: Clock;
};

/**
 * Sends what is due in these lanes, as long as they are this process's own: a process that was stopped for a while may
 * have lost them without knowing. When it stops it gives them back, so that others go on at once.
 */
export function deliverOwned({ machine, ...options }: OwnedOptions): Delivery {
  const { owners, sender, runtime } = options;
  const delivery = deliver({
    ...options,
    // One that is to be handed over is given back by then, too.
    bounds: { lingerMs: limits.renewMs, ...options.bounds },
    sender: {
      async send(request) {
        if (!owners.mayServe(request.webhook.id)) return undefined;
        return sender.send({ ...request, aheadMs: runtime.clock.now() - machine.now() });
      },
      stop: sender.stop,
    },
  });

  async function finish(): Promise<void> {
    await owners.drain();
    await delivery.stop();
    await owners.stop();
  }

  let stopping: Promise<void> | undefined;
  return { reading: delivery.reading, stop: () => (stopping ??= finish()) };
}
