import type { Caller } from '../../../idempotency/port.ts';
import type { CreateOutcome, NewPlant } from '../../../plants/port.ts';
import type { Work } from '../../../webhooks/delivery/port.ts';
import type { KEY_USED, USER_GONE } from '../../write-outcomes.ts';
import { FEED_TX } from '../deliveries/events.ts';
import type { Row } from '../engine/database.ts';
import type { Announced } from '../replicas/hints.ts';

export type Create = { plant: NewPlant; caller: Caller | undefined };

export type CreateResult = CreateOutcome | typeof USER_GONE | typeof KEY_USED;

/**
 * The events, counts and deliveries of new plants: parts of a WITH after `made`, the plants with owner, id, name, tag,
 * event, at, trace and due.
 */
export const EFFECTS = `written AS (
      INSERT INTO events (owner, id, tx, type, plant, name, tag, created_at, trace)
      SELECT owner, event, ${FEED_TX}, 'plant.created', id, name, tag, at, trace
      FROM made
    ), makers AS MATERIALIZED (
      SELECT owner, count(*) AS plants, min(due) AS due
      FROM made
      GROUP BY owner
    ), counted AS (
      UPDATE plant_counts c
      SET plants = c.plants + m.plants
      FROM (SELECT * FROM makers ORDER BY owner) m
      WHERE c.owner = m.owner
    ), subscriptions AS MATERIALIZED (
      SELECT m.owner, m.due, w.owner AS subscriber, w.id AS webhook
      FROM makers m
      JOIN webhooks w ON w.owner = m.owner
      WHERE w.status <> 'deleted'
      UNION ALL
      SELECT m.owner, m.due, w.owner, w.id
      FROM makers m
      JOIN shares s ON s.owner = m.owner
      JOIN webhooks w ON w.owner = s.viewer
      WHERE w.status <> 'deleted'
    ), outbox AS (
      INSERT INTO deliveries (subscriber, webhook, event, owner, state, attempts, step, due, leased, fence)
      SELECT s.subscriber, s.webhook, m.event, m.owner, 'pending', 0, 0, m.due, false, 0
      FROM made m
      JOIN subscriptions s ON s.owner = m.owner
      ORDER BY s.subscriber, s.webhook, m.event
    )`;

/** The columns for `announce`. */
export const ANNOUNCED = `(SELECT json_agg(owner) FROM makers) AS owners, (
      SELECT json_agg(json_build_object('webhook', webhook, 'due', due))
      FROM subscriptions
    ) AS lanes`;

/** Announces the owners of new events, and the webhooks with new deliveries. */
export function announce(announced: Announced, { owners, lanes }: Row): void {
  // `ANNOUNCED` selects arrays of this form, or null.
  // One by one: a call takes some 100 000 arguments at most.
  for (const owner of (owners as number[] | null) ?? []) announced.owners.push(owner);
  for (const lane of (lanes as Work[] | null) ?? []) announced.lanes.push(lane);
}
