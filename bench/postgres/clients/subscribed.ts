import { setTimeout as sleep } from 'node:timers/promises';
import { type Mood, moodNames, type ReceiverReport, type Receivers } from '../../crash/receiver.ts';
import type { Server } from '../../servers/server.ts';
import { createWebhook } from '../../servers/webhooks.ts';
import type { PostgresServer } from '../servers/servers.ts';

/** Webhooks of the receivers, and what becomes of their deliveries in the database. */

/** A webhook for each of the receivers: whom it calls, by its id. */
export async function subscribe(
  replica: Server,
  receivers: Receivers,
  moods: readonly Mood[] = moodNames,
): Promise<Map<string, Mood>> {
  const webhooks = new Map<string, Mood>();
  for (const mood of moods) {
    const { id, secret } = await createWebhook(replica, receivers.url(mood));
    receivers.trust(mood, secret);
    webhooks.set(id, mood);
  }
  return webhooks;
}

export async function pendingIn(server: PostgresServer, database?: string): Promise<number> {
  const [row] = await server.query(PENDING, database);
  return Number(row?.pending);
}

const PENDING = `SELECT count(*) AS pending FROM deliveries WHERE state = 'pending'`;

const LOOK_MS = 50;

/**
 * Milliseconds until what is pending now for some webhooks is delivered, whatever comes after it; Infinity when it takes
 * longer than `patienceMs`.
 */
export async function untilDelivered(
  server: PostgresServer,
  webhooks: readonly string[],
  patienceMs: number,
): Promise<number> {
  const start = performance.now();
  const these = `webhook IN (${webhooks.map((id) => `'${id}'`).join()})`;
  // Ids of events rise with the time.
  const [newest] = await server.query(`SELECT max(event) AS event FROM deliveries WHERE ${these}`);
  while (performance.now() - start < patienceMs) {
    const [row] = await server.query(`${PENDING} AND ${these} AND event <= '${newest?.event}'`);
    if (Number(row?.pending) === 0) return performance.now() - start;
    await sleep(LOOK_MS);
  }
  return Number.POSITIVE_INFINITY;
}

/** How many events the receivers have accepted, each counted once for each of them. */
export function countAccepted({ accepted }: ReceiverReport): number {
  return [...accepted.values()].reduce((sum, events) => sum + events.size, 0);
}
