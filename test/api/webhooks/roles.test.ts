import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Receiver, startReceiver } from '../../../testkit/receivers/receiver.ts';
import { type Service, startService } from '../../../testkit/service/service.ts';
import { administer, makeStoreDatabase, type TestDatabase } from '../../../testkit/stores/postgres.ts';

/** Two replicas on one database: one answers requests, one sends webhooks. */

let database: TestDatabase;
let api: Service;
let receiver: Receiver;
before(async () => {
  database = await makeStoreDatabase();
  receiver = await startReceiver();
  api = await startReplica('api');
});
after(async () => {
  await api.stop();
  await receiver.stop();
  await database.drop();
});

function startReplica(roles: string): Promise<Service> {
  return startService({
    DATABASE_URL: database.url,
    ROLES: roles,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  });
}

test('a replica that only answers requests leaves the webhooks to one that sends them', async () => {
  await api.request('POST', '/webhooks', { body: { url: receiver.url } });
  assert.equal((await api.request('POST', '/plants', { body: { name: 'Alder' } })).status, 201);
  // A replica that sends has a lease.
  const senders = async () => (await administer(database.url, 'SELECT id FROM replicas')).rows.length;
  assert.equal(await senders(), 0);
  const dispatch = await startReplica('dispatch');
  try {
    await receiver.receive(1);
    assert.equal(await senders(), 1);
    assert.equal((await api.request('POST', '/plants', { body: { name: 'Birch' } })).status, 201);
    await receiver.receive(2);
  } finally {
    await dispatch.stop();
  }
});

test('a replica that only sends webhooks answers health checks and nothing else', async () => {
  const dispatch = await startReplica('dispatch');
  try {
    for (const path of ['/healthz', '/readyz']) {
      assert.equal((await dispatch.request('GET', path)).status, 200);
    }
    for (const path of ['/plants', '/docs', '/openapi.json', '/']) {
      const { status, text } = await dispatch.request('GET', path);
      assert.deepEqual(
        [status, text],
        [404, '{"error":40400,"message":"There is no such path; this replica only sends webhooks."}'],
      );
    }
  } finally {
    await dispatch.stop();
  }
});
