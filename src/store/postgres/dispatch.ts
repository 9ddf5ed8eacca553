import { database as limits } from '../../limits.ts';
import type { Claim, ClaimRequest, Outbox, Recorded } from '../../webhooks/port.ts';
import type { Lane } from './announced.ts';
import { type Claimed, claimOf } from './claims.ts';
import type { Database, Row, Statement } from './database.ts';
import { createDueLanes, type DueLane } from './due-lanes.ts';
import { createHeldLeases } from './held-leases.ts';
import { givesBack, records } from './records.ts';
import { alone, batched, type Command } from './writer.ts';

type Dispatch = {
  /** Deliveries of these lanes are due, or will be: what this replica committed, or another one hinted at. */
  note(lanes: readonly Lane[]): void;
  /** The next claim looks for all that is due: hints may have been missed. */
  sweepSoon(): void;
  /** @param submit where commands of the dispatcher are carried out, one batch after the other */
  outbox(submit: (command: Command) => Promise<unknown>): Omit<Outbox, 'onDue' | 'onChange'>;
};

/** What the dispatcher does with the store. */
export function createDispatch({ read }: Pick<Database, 'read'>): Dispatch {
  const lanes = createDueLanes();
  const held = createHeldLeases();
  const recording = records({ lanes, held });
  const givingBack = givesBack({ lanes, held });
  const sweeper = sweeping(async () => {
    for (const row of await read(SWEEP)) lanes.found(toLane(row));
  });

  /** A replica that claims nothing has no use for what is due. */
  let isUsed = false;
  /** Whether a claim has met deliveries that only a newer version can send. */
  let looksCloser = false;

  function outbox(submit: (command: Command) => Promise<unknown>): ReturnType<Dispatch['outbox']> {
    /** Lanes that are dealt to once in a call: one that gave nothing makes room for those behind it. */
    async function claim(request: ClaimRequest): Promise<Claim[]> {
      isUsed = true;
      await sweeper.sweep();
      held.forgetOver(request.now);
      const claims: Claim[] = [];
      const apart = new Set<string>();
      while (claims.length < request.limit) {
        const asked = lanes.ready(request, apart);
        if (asked.length === 0) break;
        for (const { webhook } of asked) apart.add(webhook);
        claims.push(...(await claimFrom(asked, { ...request, limit: request.limit - claims.length })));
      }
      return claims;
    }

    async function claimFrom(asked: readonly DueLane[], request: ClaimRequest): Promise<Claim[]> {
      // Anew for each try of the transaction: what others wrote since is seen by it.
      const work = alone<Claimed>((query) => {
        lanes.ask(asked);
        return claimOf(asked, request, held, looksCloser, query);
      }, undefined);
      // The command's outcome is what its work returns.
      const { claims, answers, meetsUnknown } = (await submit(work)) as Claimed;
      looksCloser ||= meetsUnknown;
      for (const { webhook, answer } of answers) lanes.settle(webhook, request.now, answer);
      for (const { webhook, event, fence, leaseUntil: until } of claims) {
        held.hold(webhook.id, { event: event.id, fence, until });
      }
      return claims;
    }

    return {
      claim,
      // The outcomes of the kind are of this type.
      record: async (outcome) => (await submit(batched(recording, outcome))) as Recorded,
      async giveBack({ webhook, event, fence, due }) {
        await submit(batched(givingBack, { webhook: webhook.id, event: event.id, fence, due }));
      },
      /** Those of this replica: the others hold theirs. Of one that was killed, they end by themselves. */
      async releaseLeases(now) {
        const released = held.all().map(({ webhook, event, fence }) => ({ webhook, event, fence, due: now }));
        await Promise.all(released.map((lease) => submit(batched(givingBack, lease))));
      },
      async nextDue(now) {
        isUsed = true;
        if (!sweeper.hasSwept()) await sweeper.sweep();
        return lanes.nextDue(now);
      },
    };
  }

  return {
    note(announced) {
      if (isUsed) lanes.note(announced);
    },
    sweepSoon: sweeper.soon,
    outbox,
  };
}

function toLane(row: Row) {
  return {
    subscriber: Number(row.subscriber),
    webhook: String(row.webhook),
    due: Number(row.due),
    pausedUntil: Number(row.paused_until),
  };
}

/** Looks once for each webhook that is enabled. */
export const SWEEP: Statement = {
  name: 'dispatch-sweep',
  text: `SELECT w.owner AS subscriber, w.id AS webhook, coalesce(w.paused_until, 0) AS paused_until, d.due
    FROM webhooks w
    CROSS JOIN LATERAL (
      SELECT due
      FROM deliveries
      WHERE subscriber = w.owner AND webhook = w.id AND state = 'pending'
      ORDER BY due
      LIMIT 1
    ) d
    WHERE w.status = 'enabled'`,
};

/** Sweeps are as rare as leaves nine tenths of the time to other work. */
function sweeping(run: () => Promise<void>) {
  let nextAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<void> | undefined;

  async function sweepNow(): Promise<void> {
    const begin = performance.now();
    nextAt = Number.POSITIVE_INFINITY;
    try {
      await run();
      const end = performance.now();
      nextAt = Math.min(nextAt, end + Math.max(limits.sweepMs, 9 * (end - begin)));
    } catch (error) {
      nextAt = Number.NEGATIVE_INFINITY;
      throw error;
    } finally {
      underWay = undefined;
    }
  }

  return {
    /** Does nothing when there was one a short time ago. */
    async sweep(): Promise<void> {
      if (!underWay && performance.now() < nextAt) return;
      underWay ??= sweepNow();
      await underWay;
    },
    hasSwept: () => Number.isFinite(nextAt),
    soon(): void {
      nextAt = Number.NEGATIVE_INFINITY;
    },
  };
}
