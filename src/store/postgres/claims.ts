import { delivery, database as limits } from '../../limits.ts';
import type { Claim, ClaimRequest } from '../../webhooks/port.ts';
import { toEvent, toTrace } from '../rows.ts';
import { CLAIM, CLAIM_CLOSER, LOCK } from './claim-statements.ts';
import type { Query, Row } from './database.ts';
import type { Answer, DueLane } from './due-lanes.ts';
import type { HeldLeases } from './held-leases.ts';

/** What was leased, and what came of each lane. */
export type Claimed = {
  claims: Claim[];
  answers: { webhook: string; answer: Answer }[];
  /** Whether there were deliveries of an unknown type among those that were looked at. */
  meetsUnknown: boolean;
};

/**
 * Leases due deliveries of these lanes (`Outbox.claim`). Lanes that another replica is at are left to it; the limits of
 * a lane hold over all replicas: whoever counts its leases has its lock, and sees what those who had it before did.
 *
 * @param looksCloser finds what is due behind deliveries that only a newer version can send; costs a look at each event
 */
export async function claimOf(
  lanes: readonly DueLane[],
  request: ClaimRequest,
  held: HeldLeases,
  looksCloser: boolean,
  query: Query,
): Promise<Claimed> {
  const { now, leaseUntil, limit, places } = request;
  const input = JSON.stringify(lanes.map((lane, n) => inputOf(lane, n, request, held)));
  const [, [row]] = await Promise.all([
    query(LOCK, [input]),
    query(looksCloser ? CLAIM_CLOSER : CLAIM, [
      ...[input, now, leaseUntil, limit, places.each, places.together],
      ...[delivery.rateBurst, limits.clockAheadMs],
    ]),
  ]);
  // The statement has one row of this form.
  const { found, leased, unknown } = row as unknown as ClaimRow;
  const byNumber = new Map(found.map((lane) => [lane.n, lane]));
  return {
    claims: (leased ?? []).flatMap((one) => {
      const lane = byNumber.get(one.n);
      return lane ? [claimFrom(one, lane, leaseUntil)] : [];
    }),
    answers: found.map((lane) => ({
      webhook: lane.webhook,
      answer: answerOf(lane, request),
    })),
    meetsUnknown: unknown,
  };
}

type ClaimRow = { found: LaneRow[]; leased: LeasedRow[] | null; unknown: boolean };

function inputOf(
  { subscriber, webhook, bucket }: DueLane,
  n: number,
  { places }: ClaimRequest,
  held: HeldLeases,
) {
  return {
    n,
    subscriber,
    webhook,
    free: places.of.get(webhook),
    own: held.of(webhook).map(({ event, fence }) => `${event}:${fence}`),
    tokens: bucket?.tokens,
    tokens_at: bucket?.at,
  };
}

/** Members in the order in which they are found out; null from the first on that was not. */
type LaneRow = {
  n: number;
  webhook: string;
  /** Whether it is there and enabled, and whether no other replica claims from it at the same time. */
  enabled: boolean;
  locked: boolean;
  paused_until: number | null;
  url: string;
  rate: number | null;
  failing_since: number | null;
  private_key: string;
  secrets: string[] | null;
  /** How many were wanted, and how many of these the limits over all replicas admit. */
  wanted: number | null;
  room: number;
  found: number;
  taken: number;
  /** Of those that are not due yet. */
  first: number | null;
  tokens: number | null;
  tokens_at: number | null;
};

type LeasedRow = { n: number; due: number; step: number; fence: number; event: Row };

function claimFrom({ due, step, fence, event }: LeasedRow, lane: LaneRow, leaseUntil: number): Claim {
  const { webhook: id, url, rate, failing_since, secrets, private_key } = lane;
  return {
    webhook: {
      id,
      url,
      rate: rate ?? undefined,
      failingSince: failing_since ?? undefined,
      secrets: secrets ?? [],
      privateKey: private_key,
    },
    event: toEvent(event),
    trace: toTrace(event),
    due,
    leaseUntil,
    step,
    fence,
  };
}

function answerOf(lane: LaneRow, { now, leaseUntil }: ClaimRequest): Answer {
  const { enabled, locked, wanted, room, found, taken, first } = lane;
  const pausedUntil = lane.paused_until ?? undefined;
  if (!enabled) return { dueAt: Number.POSITIVE_INFINITY, isClaimed: false };
  if (wanted === null) {
    return { pausedUntil, closedUntil: locked ? undefined : now + limits.contestedMs, isClaimed: false };
  }
  const { tokens, tokens_at: at, rate } = lane;
  const wait =
    rate !== null && tokens !== null && tokens < 1
      ? Math.ceil(((1 - tokens) * 1000) / rate)
      : limits.contestedMs;
  return {
    dueAt:
      found < room && taken === found
        ? Math.min(taken > 0 ? leaseUntil : Number.POSITIVE_INFINITY, first ?? Number.POSITIVE_INFINITY)
        : undefined,
    closedUntil: found >= room && room < wanted ? now + wait : undefined,
    bucket: taken > 0 && tokens !== null && at !== null ? { tokens, at } : undefined,
    isClaimed: taken > 0,
  };
}
