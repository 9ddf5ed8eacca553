import { PlantStore, PlantStoreError, verifyWebhook } from '../../packages/client/src/client.ts';

/**
 * A program for every runtime with fetch: uses a real service at PLANT_STORE_URL and reports in one line of JSON. It
 * imports only the client.
 */

const { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: token = '' } = process.env;
const store = new PlantStore({ url, token });

/** What the promise rejects with. */
function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no failure',
    (error) => error,
  );
}

async function plants(): Promise<unknown[]> {
  const ids = [7, 2n ** 53n + 1n, '-9223372036854775808'];
  for (const id of ids) await store.plants.create({ id, name: `Plant ${id}`, tag: 'Ä ß 🌱' });
  const listed = [];
  for await (const { id, tag } of store.plants.list({ pageSize: 2 }))
    listed.push(`${typeof id} ${id} ${tag}`);
  for (const id of ids) await store.plants.delete(id);
  return listed;
}

async function failures(): Promise<unknown[]> {
  const refused = await failureOf(store.plants.delete(1));
  const nobody = new PlantStore({ url: 'http://127.0.0.1:1', token, retries: 1 });
  const unanswered = await failureOf(nobody.plants.page());
  const aborted = await failureOf(store.plants.page({ signal: AbortSignal.abort(new Error('gone home')) }));
  if (!(refused instanceof PlantStoreError && unanswered instanceof PlantStoreError)) throw refused;
  return [
    refused.error,
    refused.status,
    String(unanswered.error),
    String(unanswered.status),
    String(aborted),
  ];
}

async function stream(): Promise<unknown[]> {
  const ending = new AbortController();
  const names = [];
  const onOpen = () => void store.plants.create({ name: 'Streamed' });
  for await (const { plant } of store.events.stream({ signal: ending.signal, onOpen })) {
    names.push(plant.name);
    // Ends a loop that waits for the next event.
    setTimeout(() => ending.abort(), 50);
  }
  return names;
}

async function webhooks(): Promise<string> {
  const headers = new Headers({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
  const now = new Date(1614265330_000);
  const { id } = await verifyWebhook(
    headers,
    '{"test": 2432232314}',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    { now },
  );
  return id;
}

console.log(
  JSON.stringify({
    plants: await plants(),
    failures: await failures(),
    stream: await stream(),
    webhook: await webhooks(),
  }),
);
