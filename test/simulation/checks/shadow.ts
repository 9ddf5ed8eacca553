import { isDeepStrictEqual } from 'node:util';
import type { Store } from '../../../src/store/store.ts';
import type {
  DueDelivery,
  LaneContents,
  LaneStore,
  Outcome,
  Recorded,
} from '../../../src/webhooks/delivery/port.ts';
import { deliveriesTo } from '../../../testkit/stores/deliveries.ts';
import type { MemoryRequests } from '../stores/memory-requests.ts';
import { deliveriesOf, isVisible, type LaneRow, type Rows, type WebhookRow } from '../stores/memory-rows.ts';
import type { MemoryLanes } from '../stores/memory-store.ts';
import type { VirtualTime } from '../world/virtual-time.ts';

/**
 * Repeats each call of the store in memory on a real store, and compares the answers. Time stands still meanwhile, so
 * what holds for a run holds for both stores.
 */
export type RealStore = {
  store: Pick<Store, 'access' | 'webhooks' | 'plants' | 'deliveries' | 'chores'>;
  read: LaneStore['read'];
  suspect: LaneStore['suspect'];
  /** Whether it rejects one replica's outcomes for another's lanes; the embedded store has only one process. */
  hasFences: boolean;
  /** By a replica, after writing the leases on these lanes. */
  record(
    replica: string,
    outcomes: readonly Outcome[],
    lanes: ReadonlyMap<string, LaneRow>,
  ): Promise<Recorded[]>;
};

export type ShadowParts = {
  real: RealStore;
  rows: Rows;
  time: VirtualTime;
  fail(what: string): void;
};

export function createShadow({ real, rows, time, fail }: ShadowParts) {
  const { access, webhooks, plants, deliveries, chores } = real.store;
  let last = Promise.resolve();

  /** Runs calls one by one, in their order. */
  function follow(run: () => Promise<unknown>): void {
    last = last.then(run).then(
      () => {},
      (error: unknown) => fail(`the store failed: ${error instanceof Error ? error.stack : error}`),
    );
    time.hold(last);
  }

  function compare(what: string, expected: unknown, found: unknown): void {
    if (isDeepStrictEqual(expected, found)) return;
    fail(`the store ${what} ${JSON.stringify(found)} and not ${JSON.stringify(expected)}`);
  }

  /** A user's request, with all its consequences. */
  function ask(run: () => Promise<unknown>): void {
    const now = rows.now();
    follow(async () => {
      await run();
      while (await chores.hasChores(now)) await chores.advance({ now, limit: 1_000 });
    });
  }

  const name = (user: number) => `user-${user}`;
  const change = ({ owner, id }: WebhookRow, what: object) => {
    const at = rows.now();
    ask(() => webhooks.changeWebhook(owner, id, { at, ...what }));
  };

  async function compareWebhook({
    id,
    owner,
    status,
    pausedUntil,
    disabledReason,
  }: WebhookRow): Promise<void> {
    const found = await webhooks.webhook(owner, id);
    if (status === 'deleted') return compare('has', undefined, found);
    const stands = [status, status === 'disabled' ? disabledReason : undefined, pausedUntil];
    compare('has', stands, found && [found.status, found.disabledReason, found.pausedUntil]);
    const kept = (await deliveriesTo({ deliveries }, { owner, id }, { limit: 1_000_000 })).map(
      ({ event, state, attempts, reason }) => `${event.id} ${state} ${attempts} ${reason}`,
    );
    const pending = status === 'disabled' ? 'held' : 'pending';
    const own = [...deliveriesOf(rows, id).values()]
      .filter(({ event }) => isVisible(rows, id, event))
      .map((row) => {
        const state = row.state === 'pending' ? pending : row.state;
        return `${row.event.id} ${state} ${row.attempts} ${row.reason}`;
      });
    compare(`has of ${id}`, own.sort().reverse(), kept.sort().reverse());
  }

  return {
    createUsers(count: number): void {
      for (let user = 1; user <= count; user++) {
        follow(async () => {
          const made = await access.createUser({ name: name(user), at: rows.now() });
          compare('made the user', user, made?.id);
        });
      }
    },

    /** Compares both stores at the end. */
    async check(): Promise<void> {
      for (const webhook of rows.webhooks.values()) follow(() => compareWebhook(webhook));
      await last;
    },

    lanes(lanes: MemoryLanes): MemoryLanes {
      return {
        findWork: lanes.findWork,
        read(request) {
          const found = lanes.read(request);
          const expected = shown(found);
          follow(async () => compare('read', expected, shown(await real.read(request))));
          return found;
        },
        record(replica, outcomes, owns) {
          // An embedded service has no leases and owns each lane.
          const own = outcomes.map(({ webhook, fence }) => [webhook, { replica, fence }] as const);
          const leased = [...rows.lanes].map(([webhook, lane]) => [webhook, { ...lane }] as const);
          const lanesNow = new Map<string, LaneRow>([...own, ...leased]);
          const results = lanes.record(replica, outcomes, owns);
          const isMeant = (n: number) => real.hasFences || results[n] !== 'lost';
          const expected = results.filter((_, n) => isMeant(n));
          const meant = outcomes.filter((_, n) => isMeant(n));
          follow(async () => compare('recorded', expected, await real.record(replica, meant, lanesNow)));
          return results;
        },
        suspect(...of) {
          lanes.suspect(...of);
          follow(() => real.suspect(...of));
        },
      };
    },

    requests(requests: MemoryRequests): MemoryRequests {
      return {
        createWebhook(owner, url) {
          const made = requests.createWebhook(owner, url);
          const keys = { publicKey: '', privateKey: '', secrets: ['1'] };
          const webhook = { id: made.id, owner, url, description: undefined, rate: undefined, ...keys };
          const createdAt = rows.now();
          ask(() => webhooks.createWebhook({ ...webhook, createdAt }, 1_000_000));
          return made;
        },
        createPlant(owner) {
          const { id, at } = requests.createPlant(owner);
          const plant = { owner, id: undefined, name: id, tag: undefined, event: id, at };
          ask(() => plants.create(plant));
          return { id, at, owner, type: 'plant.created' };
        },
        test(webhook) {
          const made = requests.test(webhook);
          const { id, at, type } = made;
          const event = { id, at, type, plant: { id: 0n, name: id, tag: undefined } };
          ask(() => deliveries.createTest({ owner: webhook.owner, webhook: webhook.id, event, due: at }));
          return made;
        },
        redeliver(row) {
          requests.redeliver(row);
          const owner = rows.webhooks.get(row.webhook)?.owner ?? 0;
          const { webhook, due: at } = row;
          ask(() => deliveries.redeliver({ owner, webhook, event: row.event.id, at }));
        },
        replay(webhook, state) {
          requests.replay(webhook, state);
          const of = { owner: webhook.owner, webhook: webhook.id, from: 'evt_', state };
          ask(() => deliveries.startReplay(of, 1_000_000));
        },
        changeUrl(webhook, url) {
          requests.changeUrl(webhook, url);
          change(webhook, { url });
        },
        setRate(webhook, rate) {
          requests.setRate(webhook, rate);
          change(webhook, { rate: rate ?? null });
        },
        enable(webhook) {
          requests.enable(webhook);
          change(webhook, { enabled: true });
        },
        disable(webhook) {
          requests.disable(webhook);
          change(webhook, { enabled: false });
        },
        rotate: requests.rotate,
        deleteWebhook(webhook) {
          requests.deleteWebhook(webhook);
          ask(() => webhooks.deleteWebhook(webhook.owner, webhook.id));
        },
        share(owner, viewer) {
          requests.share(owner, viewer);
          const at = rows.now();
          ask(() => access.addShare({ owner: name(owner), viewer: name(viewer), at }, 1_000_000));
        },
        unshare(owner, viewer) {
          requests.unshare(owner, viewer);
          ask(() => access.removeShare({ owner: name(owner), viewer: name(viewer) }));
        },
        removeWithdrawn: requests.removeWithdrawn,
      };
    },
  };
}

/** What determines a lane; secrets are not part of the rules. */
function shown({ settings, asked, due, nextDue }: LaneContents) {
  const { url, rate, pausedUntil, failingSince, generation } = settings ?? {};
  const delivery = ({ event, due, step, generation, isAsked, suspicions }: DueDelivery) =>
    `${event.id} due ${due} step ${step} generation ${generation} ${isAsked} ${suspicions}`;
  return {
    settings: settings && { url, rate, pausedUntil, failingSince, generation },
    asked: asked.map(delivery),
    due: due.map(delivery),
    nextDue,
  };
}
