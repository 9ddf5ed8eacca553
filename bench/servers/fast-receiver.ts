import { ask } from '../load/client.ts';
import type { Sample } from '../measure/compare.ts';
import { watchCpu } from '../measure/usage.ts';
import { untilNoneLeft } from '../measure/wait.ts';
import type { Server } from './server.ts';
import { startReference } from './service.ts';
import { LOAD_CORE } from './tools.ts';

/** The receiver's counts. Times are from `monotonicMs`. */
export type Tally = {
  requests: number;
  /** When the first and the last request had arrived. */
  first: number;
  last: number;
  /** The first request as sent; the benchmark's plants are ASCII. */
  sample: string | undefined;
};

/** A receiver in its own process, on the load's core (`reference/fast-receiver.ts`). */
export type FastReceiver = Server & {
  /** Resets the counts. */
  reset(): Promise<void>;
  tally(): Promise<Tally>;
  /** Resolves with the counts once they include this many requests. Throws when no more arrive. */
  received(requests: number): Promise<Tally>;
};

export async function startFastReceiver(): Promise<FastReceiver> {
  const server = await startReference('fast-receiver', { core: LOAD_CORE });

  async function tally(): Promise<Tally> {
    return JSON.parse((await ask(server.url)).body);
  }

  return {
    ...server,
    tally,
    async reset() {
      await ask(server.url, { method: 'DELETE' });
    },
    async received(requests) {
      await untilNoneLeft(
        'deliveries that have not arrived',
        async () => requests - (await tally()).requests,
      );
      return tally();
    },
  };
}

/** Measures a sender until `send` resolves, when all is received. Rates are by the receiver's clock. */
export async function sampleSender(
  sender: Server,
  receiver: FastReceiver,
  send: () => Promise<void>,
): Promise<Sample> {
  await receiver.reset();
  const stop = watchCpu([sender.pid, receiver.pid]);
  await send();
  const { first, last, requests } = await receiver.tally();
  const { watched, others, seconds: elapsed } = stop();
  const [used = 0, receiverUsed = 0] = watched;
  const seconds = (last - first) / 1000;
  return {
    requests,
    seconds,
    p50: Number.NaN,
    p99: Number.NaN,
    failures: 0,
    cpuSeconds: receiverUsed,
    rate: (requests - 1) / seconds,
    cpuPerAnswer: (used / requests) * 1e6,
    serverBusy: used / seconds,
    generatorBusy: receiverUsed / seconds,
    othersBusy: others / elapsed,
  };
}
