import { setTimeout as sleep } from 'node:timers/promises';
import { ask, askFor } from '../load/client.ts';
import { untilSettled } from '../measure/wait.ts';
import { startReceiver } from '../servers/receiver.ts';
import { addresses } from './network.ts';

/** Times are by `performance.now()`, in milliseconds. */
export type Monitor = {
  /** When each replica acknowledged a create, by its URL. */
  acknowledged: ReadonlyMap<string, readonly number[]>;
  /** One for each plant and webhook. */
  deliveries: ReadonlyMap<string, Delivery>;
  /** Creates no more, and waits for the deliveries that keep arriving. */
  stop(): Promise<void>;
};

/** `arrived` is the first time; undefined when it has not arrived. */
export type Delivery = { created: number; arrived: number | undefined; times: number };

/** Creates start this often at each replica, answered or not. */
const EVERY_MS = 250;
/** Longer than the service takes to answer. */
const ANSWER_MS = 8_000;
/** So that every replica owns some. */
const WEBHOOKS = 6;
/** Without an arrival for this long, the rest will not arrive either. */
const STALLED_MS = 20_000;

/** Creates plants at a steady rate through each replica, as a user of its own, and receives their webhooks. */
export async function startMonitor(urls: readonly string[], token: string): Promise<Monitor> {
  const acknowledged = new Map(urls.map((url) => [url, [] as number[]]));
  const deliveries = new Map<string, Delivery>();
  const at = (webhook: string, plant: string) => {
    const key = `${webhook} ${plant}`;
    const delivery = deliveries.get(key) ?? { created: Number.NaN, arrived: undefined, times: 0 };
    deliveries.set(key, delivery);
    return delivery;
  };
  const receiver = await startReceiver(({ path: webhook, body, response }) => {
    const delivery = at(webhook, String(JSON.parse(body).id));
    delivery.arrived ??= performance.now();
    delivery.times++;
    response.end();
  }, addresses.clients);
  const webhooks = Array.from({ length: WEBHOOKS }, (_, n) => String(n));
  for (const webhook of webhooks)
    await askFor(`${urls[0]}/webhooks`, {
      method: 'POST',
      token,
      body: JSON.stringify({ url: receiver.url + webhook }),
    });

  async function create(url: string): Promise<void> {
    const options = {
      method: 'POST',
      token,
      body: '{"name":"Monitor"}',
      signal: AbortSignal.timeout(ANSWER_MS),
    };
    const answer = await ask(`${url}/plants`, options).catch(() => undefined);
    const now = performance.now();
    if (answer?.status !== 201) return;
    acknowledged.get(url)?.push(now);
    const plant = answer.headers.location?.split('/').at(-1) ?? '';
    for (const webhook of webhooks) at(webhook, plant).created = now;
  }

  let isOver = false;
  async function run(url: string): Promise<void> {
    const open = new Set<Promise<void>>();
    while (!isOver) {
      const one = create(url).finally(() => open.delete(one));
      open.add(one);
      await sleep(EVERY_MS);
    }
    await Promise.all(open);
  }
  const running = Promise.all(urls.map(run));
  return {
    acknowledged,
    deliveries,
    async stop() {
      isOver = true;
      await running;
      const missing = () => [...deliveries.values()].filter(({ arrived }) => arrived === undefined).length;
      await untilSettled(missing, STALLED_MS);
    },
  };
}
