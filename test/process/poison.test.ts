import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { delivery } from '../../src/limits.ts';
import { makePlace } from '../../testkit/processes/place.ts';
import { type Server, TOKEN } from '../../testkit/processes/server.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { ownerOf } from '../../testkit/service/owner.ts';
import { administer, makeStoreDatabase } from '../../testkit/stores/postgres.ts';

test('a delivery that kills the service in each attempt fails after its schedule, and all others arrive', (t) =>
  // The others arrive before the second attempt. Otherwise they would come first, and it might not be sent alone.
  poison(t, 2, { WEBHOOK_RETRY_SCHEDULE: '0s,8s' }));

test('the same with the store in PostgreSQL, where each death is a lost lease', async (t) => {
  const database = await makeStoreDatabase();
  t.after(database.drop);
  await poison(t, 1, { WEBHOOK_RETRY_SCHEDULE: '0s', DATABASE_URL: database.url });
});

async function poison(t: TestContext, attempts: number, settings: Record<string, string>): Promise<void> {
  const place = await makePlace(t);
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const env = { ...settings, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  let server: Server = await place.serve({ env });
  receiver.usually(({ body }, response) => {
    if (body.toString().includes('Poison')) void server.kill();
    else response.writeHead(204).end();
  });
  const webhook = await ownerOf(server, TOKEN).subscribe(receiver);
  await ownerOf(server, TOKEN).enable(webhook, false);
  for (let n = 0; n < 40; n++) {
    const body = { name: n === 0 ? 'Poison' : `Plant ${n}` };
    succeeded(await server.request('POST', '/plants', { body }), 201);
  }
  await ownerOf(server, TOKEN).enable(webhook, true);
  const isPoison = ({ body }: { body: Buffer }) => body.toString().includes('Poison');
  for (let starts = 1; ; starts++) {
    assert.ok(starts <= attempts * 5, 'it is sent for ever');
    const settled = ownerOf(server, TOKEN)
      .settled(webhook)
      .then(
        () => true,
        () => false,
      );
    if (await Promise.race([settled, server.ended.then(() => false)])) break;
    // A verb that writes to the store must not make the next start forget how the last one ended.
    if (settings.DATABASE_URL === undefined) assert.equal((await place.command('user', 'list')).code, 0);
    else await administer(settings.DATABASE_URL, 'UPDATE replicas SET alive_until = 0');
    server = await place.serve({ env });
  }

  // Each attempt begins once before anything suspects it.
  assert.equal(receiver.received.filter(isPoison).length, attempts * (1 + delivery.suspicions));
  const others = receiver.received.filter((received) => !isPoison(received));
  assert.equal(new Set(others.map(({ headers }) => headers['webhook-id'])).size, 39);
  const owner = ownerOf(server, TOKEN);
  const [failed, ...more] = await owner.deliveries(webhook, '?state=failed');
  assert.deepEqual(more, []);
  assert.equal(failed?.reason, `The service ended ${delivery.suspicions} times while it sent this.`);

  // An explicit redelivery is attempted again.
  receiver.usually({ status: 204 });
  await owner.redeliver(webhook, failed.event);
  await owner.settled(webhook);
  assert.equal((await owner.delivery(webhook, failed.event)).state, 'delivered');
  assert.equal((await server.stop()).code, 0);
}
