import type { Attempt } from './attempt.ts';
import type { ClaimRequest } from './port.ts';

/** How many requests may be under way, to whom. */
export type Lanes = {
  /** What may be claimed now; `limit` 0 when nothing may. */
  room(): Pick<ClaimRequest, 'perWebhook' | 'limit' | 'busy'>;
  enter(webhook: string): void;
  leave(webhook: string, attempt: Attempt | undefined): void;
};

export type LaneBounds = { perWebhook: number; inAll: number; share: number; silentWebhooks: number };

/**
 * Gives each webhook a lane of its own, so that a receiver that hangs or is slow costs only itself:
 *
 * - The fewer places are free, the narrower every lane. Many slow receivers together leave places free.
 * - A webhook whose last attempt got no whole answer is silent: it is tried with one request at a time, and the
 *   silent ones together take at most half of the places, until an answer comes.
 */
export function createLanes({ perWebhook, inAll, share, silentWebhooks }: LaneBounds): Lanes {
  const underWay = new Map<string, number>();
  const silent = new Set<string>();
  let total = 0;

  function widthNow(): number {
    return Math.min(perWebhook, Math.max(1, Math.floor((inAll - total) * share)));
  }

  return {
    room() {
      const width = widthNow();
      const busy = new Map(underWay);
      let taken = 0;
      for (const webhook of silent) taken += underWay.get(webhook) ?? 0;
      const open = taken < inAll / 2;
      // The store deals out `perWebhook` less what is busy: a lane is narrowed by calling it busy.
      for (const webhook of silent) {
        busy.set(webhook, open && !underWay.has(webhook) ? width - 1 : width);
      }
      return { perWebhook: width, limit: inAll - total, busy };
    },

    enter(webhook) {
      total++;
      underWay.set(webhook, (underWay.get(webhook) ?? 0) + 1);
    },

    leave(webhook, attempt) {
      total--;
      const left = (underWay.get(webhook) ?? 1) - 1;
      if (left === 0) underWay.delete(webhook);
      else underWay.set(webhook, left);
      if (attempt === undefined) return;
      silent.delete(webhook);
      if (attempt.error === undefined) return;
      silent.add(webhook);
      if (silent.size > silentWebhooks) {
        // The one that has been silent for longest without a new attempt stands first.
        for (const oldest of silent) {
          silent.delete(oldest);
          break;
        }
      }
    },
  };
}
