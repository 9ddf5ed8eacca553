import assert from 'node:assert/strict';
import type { User } from '../../src/access/port.ts';
import type { PlantId } from '../../src/plants/plant.ts';
import type { ListOrder, NewPlant, PlantField, Position } from '../../src/plants/port.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import type { Store } from '../../src/store/store.ts';
import type {
  DueDelivery,
  LaneSettings,
  LaneState,
  LaneStore,
  Outcome,
  Recorded,
} from '../../src/webhooks/delivery/port.ts';
import type { DeliveryState, NewWebhook } from '../../src/webhooks/port.ts';

/** What the conformance tests start from: a store, and short ways to fill it and to look into it. */
export type Given = ReturnType<typeof given>;

export const AT = 1_700_000_000_000;

export const URL = 'https://example.com/hook';

/** A delivery that may be sent, with how its webhook is sent to. */
export type Due = DueDelivery & { webhook: LaneSettings & { id: string }; fence: number };

/** What its attempt means for the webhook is meant to be written whatever was read of that. */
export type OutcomeParts = Partial<Omit<Outcome, 'laneState'>> & { laneState?: Partial<LaneState> };

/** That the attempt succeeded, unless `more` says otherwise. */
export function outcomeOf(due: Due, { laneState, ...more }: OutcomeParts = {}): Outcome {
  const { generation, failingSince } = due.webhook;
  const at = more.attempt?.at ?? AT;
  const unchanged = { generation, pausedUntil: undefined, disabledReason: undefined };
  const failing = more.reason === undefined ? undefined : (failingSince ?? at);
  return {
    webhook: due.webhook.id,
    event: due.event.id,
    fence: due.fence,
    generation: due.generation,
    step: due.step,
    attempt: {
      at: AT,
      durationMs: 5,
      address: '192.0.2.1',
      status: 204,
      excerpt: undefined,
      error: undefined,
    },
    reason: undefined,
    next: { state: 'delivered' },
    laneState: { ...unchanged, failingSince: failing, ...laneState },
    begins: undefined,
    ...more,
  };
}

/** The lanes of a store, as they are given to tests; `fenceOf` takes the lane of a webhook, where that has an owner. */
export type GivenLanes = { lanes: LaneStore; fenceOf?(webhook: string): Promise<number> };

/** @param delivery undefined where nothing is read of lanes */
export function given(store: Store, delivery?: GivenLanes) {
  const { ids, random } = systemRuntime(silentLog);

  async function user(): Promise<User> {
    const made = await store.access.createUser({ name: `user-${random(6).toString('hex')}`, at: AT });
    assert.ok(made);
    return made;
  }

  function plant(owner: number, more: Partial<NewPlant> = {}): NewPlant {
    return { owner, id: undefined, name: 'Alder', tag: 'Alnus', event: ids.next('evt'), at: AT, ...more };
  }

  async function create(owner: number, id?: PlantId, more: Partial<NewPlant> = {}): Promise<PlantId> {
    const outcome = await store.plants.create(plant(owner, { id, ...more }));
    assert.ok(typeof outcome === 'bigint', `plant ${id} was refused`);
    return outcome;
  }

  async function webhook(owner: number, more: Partial<NewWebhook> = {}): Promise<string> {
    const id = ids.next('wh');
    const made = await store.webhooks.createWebhook(
      {
        id,
        owner,
        url: URL,
        description: undefined,
        rate: undefined,
        publicKey: 'whpk_x',
        privateKey: 'whsk_x',
        secrets: ['whsec_x'],
        createdAt: AT,
        ...more,
      },
      100,
    );
    assert.equal(made, true);
    return id;
  }

  /** A user with one webhook and as many pending deliveries as asked for. */
  async function subscriber(count: number) {
    const { id: owner } = await user();
    const hook = await webhook(owner);
    for (let n = 0; n < count; n++) await create(owner);
    return { owner, hook };
  }

  /** Gives each delivery that is due of one webhook the outcome. */
  async function attemptAll(hook: string, more: OutcomeParts = {}): Promise<Due[]> {
    const found = await due(hook);
    for (const one of found) await record(outcomeOf(one, more));
    return found;
  }

  /** Does all the long work that there is. */
  async function finishChores(now = AT): Promise<void> {
    while (await store.chores.hasChores(now)) await store.chores.advance({ now, limit: 3 });
  }

  /** Replays every event, or the deliveries in one state, and counts them. */
  async function replay(owner: number, hook: string, state?: DeliveryState, from = 'evt_0'): Promise<number> {
    const request = { owner, webhook: hook, from, state };
    const count = await store.deliveries.countReplay(request);
    await store.deliveries.startReplay(request, 10);
    await finishChores();
    return count;
  }

  /** What may be sent to a webhook, that first which a person asked for; nothing while it is disabled. */
  async function due(hook: string, { now = AT, limit = 1000 } = {}): Promise<Due[]> {
    const request = { webhook: hook, now, after: undefined, limit, askedLimit: limit };
    const found = await lanes().read(request);
    const { settings } = found;
    if (!settings) return [];
    const asked = new Set(found.asked.map(({ event }) => event.id));
    const others = found.due.filter(({ event }) => !asked.has(event.id));
    const fence = (await delivery?.fenceOf?.(hook)) ?? 0;
    return [...found.asked, ...others].map((one) => ({ ...one, webhook: { id: hook, ...settings }, fence }));
  }

  function lanes(): LaneStore {
    assert.ok(delivery, 'lanes were not opened');
    return delivery.lanes;
  }

  async function record(outcome: Outcome): Promise<Recorded | undefined> {
    const [recorded] = await lanes().record([outcome]);
    return recorded;
  }

  /** Walks the whole list in pages and returns the ids. */
  async function walk(viewer: number, limit: number): Promise<PlantId[]> {
    const seen: PlantId[] = [];
    let from: Position | undefined;
    do {
      const page = await read(viewer, { from, limit });
      seen.push(...page.ids);
      from = page.next;
    } while (from);
    return seen;
  }

  async function read(
    viewer: number,
    more: { order?: ListOrder; from?: Position | undefined; through?: Position; limit?: number },
  ) {
    const fields: PlantField[] = ['id'];
    const query = { viewer, from: undefined, through: undefined, limit: 1000, fields, ...more };
    const page = await store.plants.page(query);
    const ids = [...page.json.matchAll(/"id":(-?\d+)/g)].map(([, id]) => BigInt(id ?? ''));
    return { ids, count: page.count, next: page.next };
  }

  return {
    store,
    lanes,
    ids,
    user,
    plant,
    create,
    webhook,
    subscriber,
    due,
    record,
    attemptAll,
    finishChores,
    replay,
    walk,
    read,
  };
}
