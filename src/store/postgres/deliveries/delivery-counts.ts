import { feeds as limits } from '../../../limits.ts';
import type { ReplayRequest, WebhookHealth } from '../../../webhooks/port.ts';
import { behind } from '../../event-ids.ts';
import { FEED_TYPES, storedState } from '../../rows.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import type { Database, Row } from '../engine/database.ts';
import { pathId, statement } from '../engine/statement.ts';
import {
  disabledWith,
  IS_DISABLED,
  IS_UNDELIVERED,
  momentOf,
  OF_WEBHOOK,
  unplanned,
} from './delivery-states.ts';

const COUNT_DELIVERED = statement`SELECT count(*) FILTER (WHERE state = 'delivered') AS count, count(*) AS seen, max(event) AS last
  FROM (
    SELECT d.event, d.state
    FROM deliveries d
    WHERE ${OF_WEBHOOK} AND d.event >= $2
    ORDER BY d.event
    LIMIT ${unplanned(limits.counted)}
  ) part`;

const COUNT_UNDELIVERED = statement`SELECT count(*) AS count, count(*) AS seen, max(event) AS last
  FROM (
    SELECT d.event
    FROM deliveries d
    WHERE ${OF_WEBHOOK} AND d.state = $3 AND ${momentOf('d.event')} >= ${momentOf('$2')} AND d.event >= $2
      AND ${IS_UNDELIVERED} AND ($4::boolean IS NULL OR $4 = ${IS_DISABLED})
    ORDER BY ${momentOf('d.event')}
    FETCH FIRST ${unplanned(limits.counted)} ROWS WITH TIES
  ) part`;

const COUNT_EVENTS = statement`SELECT count(*) FILTER (WHERE type IN (${FEED_TYPES})) AS count, count(*) AS seen, max(id) AS last
  FROM (
    SELECT id, type
    FROM events
    WHERE owner = $1 AND id >= $2
    ORDER BY id
    LIMIT ${unplanned(limits.counted)}
  ) part`;

const OLDEST = statement`SELECT e.created_at AS at
  FROM (
    SELECT d.owner, d.event
    FROM deliveries d
    WHERE ${OF_WEBHOOK} AND d.state = 'pending'
    ORDER BY ${momentOf('d.event')}
    FETCH FIRST ROW WITH TIES
  ) d
  CROSS JOIN LATERAL (
    SELECT created_at
    FROM events
    WHERE owner = d.owner AND id = d.event
    LIMIT 1
  ) e
  ORDER BY d.event
  LIMIT 1`;

export function deliveryCounts({ read }: Pick<Database, 'read'>, visible: VisibleOwners) {
  function countState(webhook: string, state: string, from: string, disabled?: boolean): Promise<number> {
    if (state === 'delivered') return count((next) => read(COUNT_DELIVERED, [pathId(webhook), next]), from);
    return count((next) => read(COUNT_UNDELIVERED, [pathId(webhook), next, state, disabled]), from);
  }

  async function countEvents(owners: readonly number[], from: string): Promise<number> {
    let total = 0;
    for (const owner of owners) total += await count((next) => read(COUNT_EVENTS, [owner, next]), from);
    return total;
  }

  return {
    async health(webhook: string): Promise<WebhookHealth> {
      const [waiting, failed, [oldest]] = await Promise.all([
        countState(webhook, 'pending', ''),
        countState(webhook, 'failed', ''),
        read(OLDEST, [pathId(webhook)]),
      ]);
      return { waiting, failed, oldestWaitingAt: oldest && Number(oldest.at) };
    },
    async countReplay({ owner, webhook, from, state }: ReplayRequest): Promise<number> {
      if (state === undefined) return countEvents(await visible.of(owner), from);
      return countState(webhook, storedState(state), from, disabledWith(state));
    },
  };
}

/** @param readPart returns a row with the number of rows in the part, how many of them count, and the last one */
async function count(readPart: (from: string) => Promise<Row[]>, from: string): Promise<number> {
  let total = 0;
  for (let next: string | undefined = from; next !== undefined; ) {
    const [part]: Row[] = await readPart(next);
    total += Number(part?.count);
    next = Number(part?.seen) >= limits.counted ? behind(String(part?.last)) : undefined;
  }
  return total;
}
