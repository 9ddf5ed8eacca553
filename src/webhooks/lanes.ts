import type { LaneReading } from '../measures.ts';
import type { Claim, ClaimRequest } from './port.ts';

/** How many requests may be under way, to whom, and when. */
export type Lanes = {
  /** What may be claimed now; `limit` 0 when nothing may. */
  room(now: number): Pick<ClaimRequest, 'places' | 'limit'>;
  /** When the first lane that is closed now opens by itself. */
  opensAt(now: number): number | undefined;
  enter(webhook: Pick<Claim['webhook'], 'id' | 'rate'>, now: number): void;
  leave(webhook: string, end: LaneEnd, now: number): void;
  /** Closes the lane of a webhook that is to be left alone, until the store knows of it and claims nothing for it. */
  hold(webhook: string, until: number): void;
  isHeld(webhook: string, now: number): boolean;
  reading(now: number): LaneReading;
};

/** How a request ended: as a success, with an answer that is none, with no whole answer; or it was not made. */
export type LaneEnd = 'success' | 'failure' | 'silence' | 'not made';

export type LaneBounds = {
  /** Requests under way to one webhook. */
  perWebhook: number;
  /** Deliveries that may be claimed beyond these, for each of them, so that the next request waits for no claim. */
  ahead: number;
  /** As many as these are claimed together for a lane that is busy: a claim costs as much as several deliveries. */
  claimTogether: number;
  inAll: number;
  share: number;
  failuresToProbe: number;
  probeMs: { first: number; most: number };
  rateBurst: number;
  rememberedLanes: number;
  /** How long after its last attempt a lane counts in a reading. */
  troubledMs: number;
};

type Lane = {
  underWay: number;
  /** Failures since the last success. */
  failures: number;
  isSilent: boolean;
  /** Before the next probe. */
  pauseMs: number;
  opensAt: number;
  /** When the last attempt ended. */
  leftAt: number;
  heldUntil: number;
  bucket: Bucket | undefined;
};

/** A token bucket: each request takes a token, and they come back at the webhook's rate. */
type Bucket = { rate: number; most: number; tokens: number; filledAt: number };

/**
 * Gives each webhook a lane of its own, so that a receiver that hangs or is slow costs only itself:
 *
 * - The fewer places are free, the narrower every lane. Many slow receivers together leave places free.
 * - A webhook whose last attempt got no whole answer is silent: it gets one request at a time, and the silent ones
 *   together at most half of the places.
 * - One that fails again and again is probed: one request at a time, with growing pauses.
 *
 * The first success opens a lane again. A lane with a rate takes no more than that in a second.
 */
export function createLanes(bounds: LaneBounds): Lanes {
  const {
    perWebhook,
    ahead,
    claimTogether,
    inAll,
    share,
    failuresToProbe,
    probeMs,
    rateBurst,
    rememberedLanes,
    troubledMs,
  } = bounds;
  const lanes = new Map<string, Lane>();
  let total = 0;

  function placesIn(lane: Lane, width: number, silentMay: boolean, now: number): number {
    if (now < Math.max(lane.opensAt, lane.heldUntil)) return 0;
    const isProbed = lane.isSilent || lane.failures >= failuresToProbe;
    // With a rate nothing is claimed ahead: a token is for a request that begins now.
    const open = lane.bucket ? Math.min(width, perWebhook) : width;
    const most = isProbed ? (lane.isSilent && !silentMay ? 0 : 1) : open;
    const places = Math.max(0, most - lane.underWay);
    if (lane.bucket) return Math.min(places, Math.max(0, Math.floor(lane.bucket.tokens)));
    // So narrow a lane, or one with so few requests, that it would run dry is claimed for at once.
    return places < claimTogether && lane.underWay > most / 2 ? 0 : places;
  }

  function fail(lane: Lane, now: number): void {
    lane.failures++;
    if (lane.failures < failuresToProbe) return;
    if (lane.pauseMs === 0) lane.pauseMs = probeMs.first;
    // Requests that were under way together count as one probe.
    else if (lane.underWay === 0) lane.pauseMs = Math.min(2 * lane.pauseMs, probeMs.most);
    lane.opensAt = now + lane.pauseMs;
  }

  /** What would be the same for a new lane need not be remembered. */
  function isAsNew({ underWay, failures, heldUntil, bucket }: Lane, now: number): boolean {
    return (
      underWay === 0 &&
      failures === 0 &&
      now >= heldUntil &&
      (bucket === undefined || bucket.tokens >= bucket.most)
    );
  }

  function forgetSome(): void {
    for (const [webhook, { underWay }] of lanes) {
      if (lanes.size <= rememberedLanes) return;
      if (underWay === 0) lanes.delete(webhook);
    }
  }

  return {
    room(now) {
      const each = Math.min(perWebhook * (1 + ahead), Math.max(1, Math.floor((inAll - total) * share)));
      const of = new Map<string, number>();
      let silent = 0;
      for (const { isSilent, underWay } of lanes.values()) if (isSilent) silent += underWay;
      for (const [webhook, lane] of lanes) {
        if (lane.bucket) fill(lane.bucket, now);
        if (isAsNew(lane, now)) {
          lanes.delete(webhook);
          continue;
        }
        of.set(webhook, placesIn(lane, each, silent < inAll / 2, now));
      }
      const free = inAll - total;
      return {
        // Not all at once: lanes become narrower only when they are looked at again.
        limit: free > 0 ? Math.max(1, Math.floor(free * share)) : 0,
        places: { each, of, together: perWebhook },
      };
    },

    opensAt(now) {
      let first = Number.POSITIVE_INFINITY;
      for (const lane of lanes.values()) first = Math.min(first, opening(lane, now));
      return Number.isFinite(first) ? first : undefined;
    },

    enter({ id, rate }, now) {
      total++;
      const lane = lanes.get(id) ?? newLane();
      lanes.set(id, lane);
      lane.underWay++;
      if (rate === undefined) lane.bucket = undefined;
      else {
        if (lane.bucket?.rate !== rate) lane.bucket = newBucket(rate, rateBurst, now);
        lane.bucket.tokens--;
      }
    },

    leave(webhook, end, now) {
      total--;
      const lane = lanes.get(webhook);
      if (!lane) return;
      lane.underWay--;
      lane.leftAt = now;
      if (end === 'success') Object.assign(lane, { failures: 0, isSilent: false, pauseMs: 0, opensAt: 0 });
      if (end === 'failure' || end === 'silence') {
        lane.isSilent = end === 'silence';
        fail(lane, now);
        // The one that did not fail for longest stands first.
        lanes.delete(webhook);
        lanes.set(webhook, lane);
        forgetSome();
      }
    },

    hold(webhook, until) {
      const lane = lanes.get(webhook) ?? newLane();
      lanes.set(webhook, lane);
      lane.heldUntil = until;
    },

    reading(now) {
      let [silent, failing] = [0, 0];
      for (const lane of lanes.values()) {
        // Nothing is due, or the webhook is gone: it delays nothing.
        if (lane.underWay === 0 && now - lane.leftAt >= troubledMs) continue;
        if (lane.isSilent) silent++;
        else if (lane.failures >= failuresToProbe) failing++;
      }
      return { underWay: total, silent, failing };
    },

    isHeld: (webhook, now) => now < (lanes.get(webhook)?.heldUntil ?? 0),
  };
}

function newLane(): Lane {
  return {
    underWay: 0,
    failures: 0,
    isSilent: false,
    pauseMs: 0,
    opensAt: 0,
    leftAt: 0,
    heldUntil: 0,
    bucket: undefined,
  };
}

function newBucket(rate: number, burst: number, now: number): Bucket {
  const most = Math.max(1, Math.floor(rate * burst));
  return { rate, most, tokens: most, filledAt: now };
}

function fill(bucket: Bucket, now: number): void {
  // A clock that was set back must not stop the flow.
  const passed = Math.max(0, now - bucket.filledAt);
  bucket.tokens = Math.min(bucket.most, bucket.tokens + (passed / 1000) * bucket.rate);
  bucket.filledAt = now;
}

/** When a lane that is closed opens without anybody leaving it; infinite for one that does not. */
function opening({ opensAt, heldUntil, bucket }: Lane, now: number): number {
  if (now < Math.max(opensAt, heldUntil)) return Math.max(opensAt, heldUntil);
  if (bucket && bucket.tokens < 1) return now + Math.ceil(((1 - bucket.tokens) * 1000) / bucket.rate);
  return Number.POSITIVE_INFINITY;
}
