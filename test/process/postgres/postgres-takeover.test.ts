import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { makePlace } from '../../../testkit/processes/place.ts';
import { TOKEN } from '../../../testkit/processes/server.ts';
import { startReceiver } from '../../../testkit/receivers/receiver.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { ownerOf } from '../../../testkit/service/owner.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';
import { administer, makeStoreDatabase } from '../../../testkit/stores/postgres.ts';

/** So many that one replica is not preferred for all of them: that would be one run in 30 000. */
const WEBHOOKS = 16;
const WITHIN_MS = 12_000;

test("a killed replica's pending deliveries are sent by the other within 12 s, and no other twice", async (t) => {
  const place = await makePlace(t);
  const database = await makeStoreDatabase();
  t.after(database.drop);
  const env = { DATABASE_URL: database.url, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  const [victim, other] = [await place.serve({ env }), await place.serve({ env })];
  const owner = ownerOf(other, TOKEN);

  const receivers = await Promise.all(Array.from({ length: WEBHOOKS }, () => startReceiver()));
  t.after(() => Promise.all(receivers.map(({ stop }) => stop())));
  /** Requests without an answer, by webhook. */
  const held = new Map<string, ServerResponse>();
  const counts = new Map<string, () => number>();
  for (const receiver of receivers) {
    const webhook = await owner.subscribe(receiver);
    counts.set(webhook, () => receiver.received.length);
    receiver.usually((_, response) => held.set(webhook, response));
  }
  const answer = (webhooks: readonly string[]) => {
    for (const webhook of webhooks) {
      held.get(webhook)?.writeHead(204).end();
      held.delete(webhook);
    }
  };

  /** The webhooks of each replica while all requests are held. Until both see each other, one may have all. */
  const owned = await eventually('lanes of both replicas', async () => {
    await owner.create(1);
    await eventually('request to each receiver', async () => (held.size === WEBHOOKS ? held : undefined));
    const { rows } = await administer(
      database.url,
      'SELECT array_agg(webhook) AS all FROM lanes WHERE replica IS NOT NULL GROUP BY replica',
    );
    if (rows.length === 2) return rows.map(({ all }) => all as string[]);
    answer([...held.keys()]);
    return undefined;
  });
  const before = new Map([...counts].map(([webhook, count]) => [webhook, count()]));
  const again = () => [...counts].filter(([webhook, count]) => count() > (before.get(webhook) ?? 0));

  await victim.kill();
  using watch = startWatch();
  const isBroken = (webhook: string) => held.get(webhook)?.destroyed === true;
  const orphans = await eventually('broken connections', async () =>
    owned.find((all) => all.every(isBroken)),
  );
  for (const webhook of orphans) held.delete(webhook);
  answer([...held.keys()]);
  await eventually('takeover', async () => (again().length >= orphans.length ? true : undefined));
  const tookMs = watch.ms();
  assert.ok(tookMs < WITHIN_MS, `after ${tookMs} ms`);

  answer([...held.keys()]);
  assert.equal((await other.stop()).code, 0);
  assert.deepEqual(
    again()
      .map(([webhook, count]) => [webhook, count() - (before.get(webhook) ?? 0)])
      .sort(),
    orphans.map((webhook) => [webhook, 1]).sort(),
  );
});
