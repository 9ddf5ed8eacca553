import type { User } from '../../../src/access/port.ts';
import type { Store } from '../../../src/store/store.ts';
import type { DueDelivery, LaneStore } from '../../../src/webhooks/delivery/port.ts';
import {
  type Delivery,
  type DeliveryState,
  feedTypes,
  type PlantEvent,
  type ReplayRequest,
  type Webhook,
} from '../../../src/webhooks/port.ts';
import { AT } from '../../../testkit/stores/given.ts';
import { createMemoryRequests, type MemoryRequests } from './memory-requests.ts';
import {
  createRows,
  type DeliveryRow,
  deliveriesOf,
  isVisible,
  type Rows,
  type WebhookRow,
} from './memory-rows.ts';
import { createMemoryLanes } from './memory-store.ts';

/** What the conformance tests of deliveries call. */
type Part = {
  access: Pick<Store['access'], 'createUser' | 'users' | 'addShare' | 'removeShare'>;
  plants: Pick<Store['plants'], 'create'>;
  webhooks: Pick<
    Store['webhooks'],
    'createWebhook' | 'webhook' | 'changeWebhook' | 'deleteWebhook' | 'rotateSecret'
  >;
  deliveries: Pick<
    Store['deliveries'],
    'page' | 'history' | 'createTest' | 'redeliver' | 'countReplay' | 'startReplay'
  >;
  chores: Pick<Store['chores'], 'hasChores' | 'advance'>;
};

/** What the parts share: the store in memory, and what it does not keep. */
type Ground = {
  rows: Rows;
  requests: MemoryRequests;
  users: User[];
  /** By event. */
  plants: Map<string, PlantEvent['plant']>;
  chores: (() => void)[];
  /** Requests bring the time with them. */
  setTime(at: number): void;
  webhook(id: string, owner: number): WebhookRow | undefined;
};

/** The simulation's store as one of the real ones, so that their tests judge its rules. */
export function openStoreInMemory(): { store: Store; lanes: LaneStore } {
  let now = AT;
  const rows = createRows(() => now);
  const ground: Ground = {
    rows,
    requests: createMemoryRequests(rows, 0),
    users: [],
    plants: new Map(),
    chores: [],
    setTime(at) {
      now = at;
    },
    webhook(id, owner) {
      const found = rows.webhooks.get(id);
      return found?.owner === owner && found.status !== 'deleted' ? found : undefined;
    },
  };
  const part: Part = {
    access: accessOf(ground),
    plants: plantsOf(ground),
    webhooks: webhooksOf(ground),
    deliveries: deliveryStoreOf(ground),
    chores: {
      hasChores: async () => ground.chores.length > 0,
      async advance(slice) {
        ground.setTime(slice.now);
        ground.chores.shift()?.();
        return true;
      },
    },
  };
  // A test that calls anything else fails.
  return { store: part as Store, lanes: lanesOf(ground) };
}

function lanesOf({ rows, plants }: Ground): LaneStore {
  const lanes = createMemoryLanes(rows);
  /** Without stamps, which belong to the checks. */
  const plain = ({ event: { id, type, at, plant }, ...delivery }: DueDelivery): DueDelivery => ({
    ...delivery,
    event: { id, type, at, plant: plants.get(id) ?? plant },
  });
  return {
    findWork: async (after, limit) => lanes.findWork(after, limit, () => true),
    async read(request) {
      const { asked, due, ...rest } = lanes.read(request);
      return { ...rest, asked: asked.map(plain), due: due.map(plain) };
    },
    record: async (outcomes) => lanes.record('', outcomes, () => true),
    suspect: async (...of) => lanes.suspect(...of),
    listen(listener) {
      rows.listeners.work.push((work) => listener({ work, changed: [] }));
      rows.listeners.change.push((webhook) => listener({ work: [], changed: [webhook] }));
    },
  };
}

function accessOf({ requests, users, chores }: Ground): Part['access'] {
  const idOf = (name: string) => users.find((user) => user.name === name)?.id ?? 0;
  return {
    async createUser({ name, at }) {
      const user = { id: users.length + 1, name, createdAt: at, disabledAt: undefined };
      users.push(user);
      return user;
    },
    users: async () => users,
    async addShare({ owner, viewer }) {
      requests.share(idOf(owner), idOf(viewer));
      return 'shared';
    },
    async removeShare({ owner, viewer }) {
      requests.unshare(idOf(owner), idOf(viewer));
      chores.push(requests.removeWithdrawn);
      return true;
    },
  };
}

function plantsOf({ requests, plants, setTime }: Ground): Part['plants'] {
  const counts = new Map<number, number>();
  return {
    async create({ owner, id, name, tag, event, at }) {
      const count = (counts.get(owner) ?? 0) + 1;
      counts.set(owner, count);
      const created = id ?? BigInt(count);
      setTime(at);
      plants.set(event, { id: created, name, tag });
      requests.createPlant(owner, event);
      return created;
    },
  };
}

function webhooksOf({ requests, setTime, webhook }: Ground): Part['webhooks'] {
  const shown = ({ status, ...row }: WebhookRow): Webhook => ({
    ...row,
    status: status === 'enabled' ? status : 'disabled',
    description: undefined,
    publicKey: '',
    createdAt: AT,
  });
  return {
    async createWebhook({ id, owner, url }) {
      requests.createWebhook(owner, url, id);
      return true;
    },
    async webhook(owner, id) {
      const found = webhook(id, owner);
      return found && shown(found);
    },
    async changeWebhook(owner, id, { at, url, rate, enabled }) {
      const found = webhook(id, owner);
      if (!found) return undefined;
      setTime(at);
      if (url !== undefined) requests.changeUrl(found, url);
      if (rate !== undefined) requests.setRate(found, rate ?? undefined);
      if (enabled !== undefined) requests[enabled ? 'enable' : 'disable'](found);
      return shown(found);
    },
    async deleteWebhook(owner, id) {
      const found = webhook(id, owner);
      if (found) requests.deleteWebhook(found);
      return found !== undefined;
    },
    async rotateSecret(owner, id) {
      const found = webhook(id, owner);
      if (found) requests.rotate(found);
      return found ? 'rotated' : 'no webhook';
    },
  };
}

function deliveryStoreOf({ rows, requests, plants, chores, setTime, webhook }: Ground): Part['deliveries'] {
  const stateOf = (row: DeliveryRow): DeliveryState => {
    const isHeld = row.state === 'pending' && rows.webhooks.get(row.webhook)?.status !== 'enabled';
    return isHeld ? 'held' : row.state;
  };
  const shown = (row: DeliveryRow): Delivery => {
    const { id, type, at } = row.event;
    const plant = plants.get(id) ?? { id: 0n, name: '', tag: undefined };
    const { attempts, reason } = row;
    const nextAttemptAt = row.state === 'pending' ? row.due : undefined;
    return {
      webhook: row.webhook,
      event: { id, type, at, plant },
      state: stateOf(row),
      attempts,
      reason,
      nextAttemptAt,
    };
  };
  const find = (of: string, event: string) => deliveriesOf(rows, of).get(event);
  /** How many the replay sends. */
  function countOf({ webhook: of, state }: ReplayRequest): number {
    const isMeant = (row: DeliveryRow) => stateOf(row) === state;
    if (state !== undefined) return [...deliveriesOf(rows, of).values()].filter(isMeant).length;
    return [...rows.events.values()].filter((event) => isSent(of, event)).length;
  }
  const isSent = (of: string, event: DeliveryRow['event']) =>
    feedTypes.includes(event.type) && isVisible(rows, of, event);

  return {
    page: async ({ webhook: of = '', events }) =>
      [...deliveriesOf(rows, of).values()]
        .map(shown)
        .filter(({ event }) => events?.includes(event.id) ?? true)
        .sort((one, other) => (one.event.id < other.event.id ? 1 : -1)),
    async history(_, of, event) {
      const row = find(of, event);
      const attempts = [...(row?.kept ?? [])].sort(byNumber).map(([, kept]) => kept);
      return { delivery: row && shown(row), attempts };
    },
    async createTest({ owner, webhook: of, event, due }) {
      const found = webhook(of, owner);
      if (!found) return false;
      setTime(due);
      plants.set(event.id, event.plant);
      requests.test(found, event.id);
      return true;
    },
    async redeliver({ owner, webhook: of, event, at }) {
      const row = find(of, event);
      if (!webhook(of, owner)) return 'no webhook';
      if (!row) return 'no delivery';
      setTime(at);
      requests.redeliver(row);
      return 'redelivered';
    },
    countReplay: async (request) => countOf(request),
    async startReplay(request) {
      const found = webhook(request.webhook, request.owner);
      const { state } = request;
      if (found && countOf(request) > 0) {
        chores.push(() => requests.replay(found, state === 'held' ? 'pending' : state));
      }
      return true;
    },
  };
}

function byNumber([one]: [number, unknown], [other]: [number, unknown]): number {
  return one - other;
}
