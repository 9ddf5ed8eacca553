import type { lanes as limits } from '../../limits.ts';
import type { Bounds } from './rules.ts';

/** A lane as one of its owners took it. */
export type LaneFence = { webhook: string; fence: number };

/** Slow searches are rare: a lane seen twice within this many times `orphanMs` had no owner in between. */
const ORPHANS_SEEN = 3;

type Unowned = { since: number; seenAt: number };
type Owned = { fence: number; keptUntil: number };

/**
 * Which lanes this replica takes, keeps and hands over, without I/O: callers report events with the time of the
 * monotonic clock. Each lane has a preferred replica among those that dispatch, the same for all that see the same
 * replicas. So lanes spread evenly, and a joining or leaving replica moves only its share. A replica takes the lanes it
 * is preferred for, and lanes without an owner for a while, since replicas may briefly see different members. An owner
 * keeps a lane until its lease ends or another is preferred. An orphan stays a while longer: its preferred replica may
 * ignore it again.
 */
export function createOwnership({ leaseMs, marginMs, renewMs, orphanMs, keptMs }: Bounds<typeof limits>) {
  let self = '';
  let members: readonly string[] = [];
  /** When the last renewal that succeeded was requested. */
  let renewedAt = -Infinity;
  let lanes = new Map<string, Owned>();
  /** Lanes of others that had no owner when last seen. */
  const orphans = new Map<string, Unowned>();

  let preferred = preferenceAmong(members);
  const isPreferred = (webhook: string) => preferred(webhook) === self;
  const endsAt = () => renewedAt + leaseMs - marginMs;

  function isOrphan(webhook: string, now: number): boolean {
    const known = orphans.get(webhook);
    // Somebody owned it in between, unless searches are slow.
    const since = known && now - known.seenAt < ORPHANS_SEEN * orphanMs ? known.since : now;
    orphans.set(webhook, { since, seenAt: now });
    return now - since >= orphanMs;
  }

  function forgetOrphans(now: number): void {
    for (const [webhook, { seenAt }] of orphans) {
      if (now - seenAt >= ORPHANS_SEEN * orphanMs) orphans.delete(webhook);
    }
  }

  return {
    /** Which of these lanes, apparently without an owner, this replica may try to take now. */
    wants: (webhooks: readonly string[], now: number) =>
      now < endsAt() ? webhooks.filter((webhook) => isPreferred(webhook) || isOrphan(webhook, now)) : [],
    taken(webhook: string, fence: number, now: number): void {
      lanes.set(webhook, { fence, keptUntil: orphans.delete(webhook) ? now + keptMs : now });
    },
    /** Lanes that are given back or owned by another. Returns those that this replica owned, with their fences. */
    drop(webhooks: readonly string[]): LaneFence[] {
      const dropped = webhooks.flatMap((webhook) => {
        const lane = lanes.get(webhook);
        return lane ? [{ webhook, fence: lane.fence }] : [];
      });
      for (const { webhook } of dropped) lanes.delete(webhook);
      return dropped;
    },
    /** Others own these lanes since they were taken under these fences. */
    lost(taken: readonly LaneFence[]): void {
      for (const { webhook, fence } of taken) if (lanes.get(webhook)?.fence === fence) lanes.delete(webhook);
    },
    owned: () => [...lanes.keys()],
    /** Whether deliveries of this lane may be sent now: this replica owns it, and the lease has not ended. */
    mayServe: (webhook: string, now: number) => now < endsAt() && lanes.has(webhook),
    /** Whether this replica is responsible for the lane. */
    isFor: (webhook: string) => lanes.has(webhook) || isPreferred(webhook),
    /** The id of this replica; a new one after each lease that ended. */
    replica: () => self,
    isBegun: () => renewedAt > -Infinity,
    /** When to renew the lease, or begin it. */
    renewsAt: () => renewedAt + renewMs,
    /** The lease was begun or renewed by a request sent at this time. */
    renewed(sentAt: number): void {
      renewedAt = sentAt;
    },
    /**
     * These replicas dispatch now. Returns the consequences for this one, at each call until it has given lanes back:
     * its lanes to hand over, and whether another replica has gone, whose lanes may now be taken.
     */
    see(seen: readonly string[], now: number): { leaving: string[]; isAnyGone: boolean } {
      forgetOrphans(now);
      const next = [self, ...seen.filter((member) => member !== self)];
      const isAnyGone = members.some((member) => !next.includes(member));
      members = next;
      preferred = preferenceAmong(members);
      const leaving = [...lanes].flatMap(([webhook, { keptUntil }]) =>
        now >= keptUntil && !isPreferred(webhook) ? [webhook] : [],
      );
      return { leaving, isAnyGone };
    },
    /** When the lease ends for this replica: before it ends for all others. */
    endsAt,
    /** The lease may have ended: this replica starts again under a new name, without lanes. Returns those it lost. */
    begin(replica: string): string[] {
      const lost = [...lanes.keys()];
      self = replica;
      members = [replica];
      preferred = preferenceAmong(members);
      renewedAt = -Infinity;
      lanes = new Map();
      orphans.clear();
      return lost;
    },
  };
}

/**
 * Which of the replicas is preferred for a lane: the one with the highest weight (rendezvous hashing); undefined without
 * replicas. Weights are those of processes: when one begins another life, only the lanes that it had move.
 */
export function preferenceAmong(members: readonly string[]): (webhook: string) => string | undefined {
  const candidates = members.map((member) => ({ member, process: member.replace(/-\d+$/, '-1') }));
  return (webhook) => {
    let preferred: string | undefined;
    let most = -1;
    for (const { member, process } of candidates) {
      const weight = hash(`${process} ${webhook}`);
      if (weight <= most) continue;
      preferred = member;
      most = weight;
    }
    return preferred;
  };
}

/** FNV-1a, with its bits then mixed as in MurmurHash3: ids that differ in one character must be far apart. */
function hash(text: string): number {
  let bits = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) bits = Math.imul(bits ^ text.charCodeAt(i), 0x01000193);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
