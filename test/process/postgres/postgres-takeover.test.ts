import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { makePlace } from '../../../testkit/processes/place.ts';
import { TOKEN } from '../../../testkit/processes/server.ts';
import { startReceiver } from '../../../testkit/receivers/receiver.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { ownerOf } from '../../../testkit/service/owner.ts';
import { makeDatabase } from '../../../testkit/stores/postgres.ts';

const WEBHOOKS = 8;
/** Time for replicas to see each other. */
const SEEN_MS = 1_500;
const WITHIN_MS = 12_000;

test("a killed replica's pending deliveries are sent by the other within 12 s, and no other twice", async (t) => {
  const place = await makePlace(t);
  const database = await makeDatabase();
  t.after(database.drop);
  const env = { DATABASE_URL: database.url, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  const [victim, other] = [await place.serve({ env }), await place.serve({ env })];
  const owner = ownerOf(other, TOKEN);
  await pause(SEEN_MS);

  const receivers = await Promise.all(Array.from({ length: WEBHOOKS }, () => startReceiver()));
  t.after(() => Promise.all(receivers.map(({ stop }) => stop())));
  const held: ServerResponse[] = [];
  for (const receiver of receivers) {
    receiver.script((_, response) => held.push(response));
    await owner.subscribe(receiver);
  }
  await owner.create(1);
  await eventually('request to each receiver', async () => (held.length === WEBHOOKS ? held : undefined));

  await victim.kill();
  const killed = performance.now();
  const ofVictim = await eventually('broken connection', async () => {
    const broken = held.filter(({ destroyed }) => destroyed).length;
    return broken > 0 ? broken : undefined;
  });
  assert.ok(ofVictim < WEBHOOKS, 'one replica had all lanes');
  for (const response of held) if (!response.destroyed) response.writeHead(204).end();
  const again = () => receivers.filter(({ received }) => received.length === 2).length;
  await eventually('takeover', async () => (again() >= ofVictim ? true : undefined));
  const tookMs = performance.now() - killed;
  assert.ok(tookMs < WITHIN_MS, `after ${tookMs} ms`);

  assert.equal((await other.stop()).code, 0);
  assert.equal(again(), ofVictim);
});
