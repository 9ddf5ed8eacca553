import assert from 'node:assert/strict';
import type { User } from '../../src/access/port.ts';
import type { PlantId } from '../../src/plants/plant.ts';
import type { NewPlant, PlantField, Position } from '../../src/plants/port.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import type { Store } from '../../src/store/store.ts';
import type { ClaimRequest } from '../../src/webhooks/port.ts';

/** What the conformance tests start from: a store, and short ways to fill it and to look into it. */
export type Given = ReturnType<typeof given>;

export const AT = 1_700_000_000_000;

export function given(store: Store) {
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

  async function webhook(owner: number): Promise<string> {
    const id = ids.next('wh');
    await store.webhooks.createWebhook({
      id,
      owner,
      url: 'https://example.com/hook',
      description: undefined,
      publicKey: 'whpk_x',
      privateKey: 'whsk_x',
      secrets: ['whsec_x'],
      createdAt: AT,
    });
    return id;
  }

  /** Claims everything that is due, of all webhooks unless one is named. */
  async function claim(of?: string, more: Partial<ClaimRequest> = {}) {
    const request = {
      now: AT,
      leaseUntil: AT + 1000,
      perWebhook: 100,
      limit: 1000,
      busy: new Map(),
      ...more,
    };
    const claims = await store.webhooks.claim(request);
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

  return { store, ids, user, plant, create, webhook, claim, walk, read };
}
