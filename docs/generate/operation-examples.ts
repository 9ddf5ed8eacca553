import type { PlantStore } from '../../packages/client/src/client.ts';

/**
 * How to call an operation. The type checker holds the client's part, and a test the rest: no example names a parameter,
 * verb, flag or method that does not exist.
 */
export type Example = {
  /** For `curl`. */
  query?: string;
  /** After `plant-store`; absent when no verb does this alone. */
  cli?: string;
  /** Its source is the example. */
  client?: (store: PlantStore) => Promise<unknown>;
  /** Members of the response, instead of those that suit any response of its schema. */
  response?: Readonly<Record<string, unknown>>;
};

/** By `operationId`. */
export const examples: Readonly<Record<string, Example>> = {
  createPlant: {
    cli: 'plant create Alder',
    client: (store) => store.plants.create({ name: 'Alder' }),
  },
  listPlants: {
    query: 'name=al&limit=20&fields=id,name,tag',
    cli: 'plant list --name al --limit 20',
    client: async (store) => {
      for await (const plant of store.plants.list({ name: 'al' })) console.log(plant.name);
    },
  },
  deletePlant: { cli: 'plant delete 7', client: (store) => store.plants.delete(7) },
  createWebhook: {
    cli: 'webhook create https://example.com/plants',
    client: (store) => store.webhooks.create({ url: 'https://example.com/plants' }),
  },
  listWebhooks: { cli: 'webhook list', client: (store) => store.webhooks.list() },
  getWebhook: { cli: 'webhook show wh_…', client: (store) => store.webhooks.get('wh_…') },
  changeWebhook: {
    cli: "webhook update wh_… --description 'The greenhouse' --rate 50",
    client: (store) => store.webhooks.update('wh_…', { description: 'The greenhouse', rate: 50 }),
  },
  deleteWebhook: { cli: 'webhook delete wh_…', client: (store) => store.webhooks.delete('wh_…') },
  rotateSecret: {
    cli: 'webhook rotate wh_… --overlap 1d',
    client: (store) => store.webhooks.rotateSecret('wh_…', { overlap: 86_400 }),
  },
  testWebhook: {
    cli: 'webhook test wh_… --wait',
    client: (store) => store.webhooks.test('wh_…'),
    response: { type: 'plant.test', plant: { id: 0, name: 'Test plant', tag: 'test' } },
  },
  replay: {
    cli: 'webhook replay wh_… --since 2026-11-21T08:00:00Z',
    client: (store) => store.webhooks.replay('wh_…', { since: '2026-11-21T08:00:00Z' }),
  },
  listDeliveries: {
    query: 'state=failed',
    cli: 'delivery list wh_… --state failed',
    client: async (store) => {
      for await (const delivery of store.webhooks.deliveries('wh_…', { state: 'failed' })) {
        console.log(delivery.plant.name, delivery.attempts);
      }
    },
  },
  getDelivery: {
    cli: 'delivery show wh_… evt_…',
    client: (store) => store.webhooks.delivery('wh_…', 'evt_…'),
    response: {
      state: 'delivered',
      attempts: 1,
      history: [{ at: '2026-11-21T08:00:00Z', durationMs: 31, address: '192.0.2.7', status: 204 }],
    },
  },
  redeliver: {
    cli: 'delivery redeliver wh_… evt_…',
    client: (store) => store.webhooks.redeliver('wh_…', 'evt_…'),
  },
  listAllDeliveries: {
    query: 'state=failed',
    cli: 'delivery list --state failed',
    client: async (store) => {
      for await (const delivery of store.webhooks.allDeliveries({ state: 'failed' })) {
        console.log(delivery.webhook, delivery.plant.name);
      }
    },
  },
  listEvents: {
    query: 'limit=100',
    cli: 'event list',
    client: async (store) => {
      for await (const { id, plant } of store.events.list()) console.log(id, plant.name);
    },
  },
  streamEvents: {
    cli: 'event watch',
    client: async (store) => {
      for await (const { plant, cursor } of store.events.stream()) console.log(plant.name, cursor);
    },
  },
  getActivity: { query: 'hours=24', client: (store) => store.activity({ hours: 24 }) },
  getMe: { cli: 'whoami', client: (store) => store.me() },
  listTokens: { cli: 'token list --own', client: (store) => store.tokens.list() },
  createToken: {
    cli: "token create --own --label 'nightly import' --scopes plants:write --expires-in 90d",
    client: (store) => store.tokens.create({ label: 'nightly import', scopes: ['plants:write'] }),
    response: { token: 'pst_…' },
  },
  rotateToken: {
    cli: 'token rotate tok_… --own',
    client: (store) => store.tokens.rotate('tok_…'),
    response: { token: 'pst_…' },
  },
  revokeToken: { cli: 'token revoke tok_… --own', client: (store) => store.tokens.revoke('tok_…') },
};
