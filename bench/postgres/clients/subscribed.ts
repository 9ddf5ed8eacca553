import { setTimeout as sleep } from 'node:timers/promises';
import { startWatch } from '../../../testkit/service/running-time.ts';
import { type Mood, moodNames, type ReceiverReport, type Receivers } from '../../crash/receiver.ts';
import type { Server } from '../../servers/server.ts';
import { createWebhook } from '../../servers/webhooks.ts';
import type { PostgresServer } from '../servers/servers.ts';

/** Creates a webhook for each receiver; returns whom each webhook calls, by its id. */
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
 * Milliseconds until some webhooks' deliveries that are pending now are delivered, without what a busy machine took;
 * Infinity after `patienceMs`.
 */
export function untilDelivered(
  server: PostgresServer,
  webhooks: readonly string[],
  patienceMs: number,
): Promise<number> {
  const these = `webhook IN (${webhooks.map((id) => `'${id}'`).join()})`;
  return server.session(async (query) => {
    using watch = startWatch();
    // Event ids increase over time.
    const [newest] = await query(`SELECT max(event) AS event FROM deliveries WHERE ${these}`);
    while (watch.ms() < patienceMs) {
      const [row] = await query(`${PENDING} AND ${these} AND event <= '${newest?.event}'`);
      if (Number(row?.pending) === 0) return watch.ms();
      await sleep(LOOK_MS);
    }
    return Infinity;
  });
}

/** How many events the receivers accepted, counted once per receiver. */
export function countAccepted({ accepted }: ReceiverReport): number {
  return [...accepted.values()].reduce((sum, events) => sum + events.size, 0);
}
