import assert from 'node:assert/strict';
import type { User } from '../../src/access/port.ts';
import type { PlantId } from '../../src/plants/plant.ts';
import type { NewPlant, PlantField, Position } from '../../src/plants/port.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import type { Store } from '../../src/store/store.ts';
import type { Claim, ClaimRequest, DeliveryOutcome, NewWebhook, Outbox } from '../../src/webhooks/port.ts';

/** As given.ts, for PostgreSQL, whose deliveries are claimed. */
export type Given = ReturnType<typeof given>;

export const AT = 1_700_000_000_000;

export const URL = 'https://example.com/hook';

type ClaimOptions = Partial<Omit<ClaimRequest, 'places'>> & { places?: Partial<ClaimRequest['places']> };

/** That the attempt of a claim succeeded, unless `more` says otherwise. */
export function outcomeOf(claim: Claim, more: Partial<DeliveryOutcome> = {}): DeliveryOutcome {
  return {
    webhook: claim.webhook.id,
    event: claim.event.id,
    fence: claim.fence,
    step: claim.step,
    url: claim.webhook.url,
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
    pauseUntil: undefined,
    disable: undefined,
    ...more,
  };
}

export function given(store: Store & { outbox: Outbox }) {
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
    assert.ok('created' in outcome, `plant ${id} was refused`);
    return outcome.created;
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

  /** Claims what is due of one webhook, and gives each the outcome. */
  async function attemptAll(hook: string, more: Partial<DeliveryOutcome> = {}): Promise<Claim[]> {
    const claims = await claim(hook);
    for (const one of claims) await store.outbox.record(outcomeOf(one, more));
    return claims;
  }

  /** Does all the long work that there is. */
  async function finishChores(now = AT): Promise<void> {
    while (await store.chores.hasChores(now)) await store.chores.advance({ now, limit: 3 });
  }

  /** Claims everything that is due, of all webhooks unless one is named. */
  async function claim(of?: string, { places, ...more }: ClaimOptions = {}) {
    const claims = await store.outbox.claim({
      now: AT,
      leaseUntil: AT + 1000,
      limit: 1000,
      places: { each: 100, of: new Map(), together: 100, ...places },
      ...more,
    });
    return claims.filter((one) => of === undefined || one.webhook.id === of);
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
    more: { from?: Position | undefined; through?: Position; limit?: number },
  ) {
    const fields: PlantField[] = ['id'];
    const query = { viewer, from: undefined, through: undefined, limit: 1000, fields, ...more };
    const page = await store.plants.page(query);
    const ids = [...page.json.matchAll(/"id":(-?\d+)/g)].map(([, id]) => BigInt(id ?? ''));
    return { ids, count: page.count, next: page.next };
  }

  return {
    store,
    ids,
    user,
    plant,
    create,
    webhook,
    subscriber,
    claim,
    attemptAll,
    finishChores,
    walk,
    read,
  };
}
