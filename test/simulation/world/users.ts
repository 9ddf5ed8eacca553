import type { MemoryRequests } from '../stores/memory-requests.ts';
import { deliveriesOf, isVisible, type Rows, type WebhookRow } from '../stores/memory-rows.ts';
import type { Random } from './random.ts';
import type { Scenario } from './scenario.ts';
import type { VirtualTime } from './virtual-time.ts';

export type UsersParts = {
  scenario: Scenario;
  time: VirtualTime;
  rows: Rows;
  requests: MemoryRequests;
  random: Random;
  /** Whether a process can take a request. */
  isServed(): boolean;
  /** Called when a user waits for this delivery. */
  onAsked(webhook: WebhookRow, event: string): void;
};

/** Runs users until the busy time is over. */
export function startUsers(parts: UsersParts): void {
  const { scenario, time, requests, random, isServed } = parts;
  for (let n = 0; n < scenario.webhooks; n++) {
    requests.createWebhook(random.whole(1, scenario.users), urlOf(random));
  }
  const act = actions(parts);
  const next = () => {
    if (time.now() >= scenario.start + scenario.busyMs) return;
    if (isServed()) act();
    time.at(time.now() + random.whole(0, 2 * scenario.requestMs), next);
  };
  next();
}

const urlOf = (random: Random) => `https://receiver-${random.whole(1, 8)}.example`;

/** How often each action runs, relative to the others. */
const WEIGHTS = {
  create: 100,
  import: 2,
  test: 12,
  redeliver: 14,
  redeliverMany: 2,
  replay: 2,
  disable: 3,
  enable: 6,
  moveAway: 3,
  setRate: 6,
  rotate: 2,
  remove: 1,
  add: 1,
  share: 2,
  unshare: 2,
} as const;

/** The longest delay of a removed share's chore. */
const CHORE_MS = 3_000;

function actions({ scenario, time, rows, requests, random, onAsked }: UsersParts): () => void {
  const user = () => random.whole(1, scenario.users);
  /** Shares whose deliveries are still being removed. */
  const withdrawn = new Set<string>();

  function some(status?: WebhookRow['status']): WebhookRow | undefined {
    const there = [...rows.webhooks.values()].filter(
      (webhook) => webhook.status !== 'deleted' && (status === undefined || webhook.status === status),
    );
    return there.length > 0 ? random.pick(there) : undefined;
  }

  const theirs = (webhook: WebhookRow) =>
    [...deliveriesOf(rows, webhook.id).values()].filter(({ event }) => isVisible(rows, webhook.id, event));

  function redeliver(): void {
    const webhook = some();
    const all = webhook ? theirs(webhook) : [];
    if (!webhook || all.length === 0) return;
    const row = random.pick(all);
    requests.redeliver(row);
    onAsked(webhook, row.event.id);
  }

  /** Like a script, one by one. */
  function redeliverMany(): void {
    const webhook = some();
    if (webhook) for (const row of theirs(webhook).slice(-40)) requests.redeliver(row);
  }

  function unshare(): void {
    const [owner, viewer] = [user(), user()];
    const share = `${owner}>${viewer}`;
    if (!rows.shares.has(share)) return;
    requests.unshare(owner, viewer);
    withdrawn.add(share);
    time.at(time.now() + random.whole(0, CHORE_MS), () => {
      requests.removeWithdrawn();
      withdrawn.delete(share);
    });
  }

  const doing: Record<keyof typeof WEIGHTS, () => void> = {
    create: () => void requests.createPlant(user()),
    import() {
      const owner = user();
      for (let n = random.whole(10, 40); n > 0; n--) requests.createPlant(owner);
    },
    test() {
      const webhook = some();
      if (webhook) onAsked(webhook, requests.test(webhook).id);
    },
    redeliver,
    redeliverMany,
    replay() {
      const webhook = some();
      const state = random.pick(['pending', 'delivered', 'failed', 'failed', undefined] as const);
      if (webhook) requests.replay(webhook, state);
    },
    disable: () => on(some('enabled'), requests.disable),
    enable: () => on(some('disabled'), requests.enable),
    moveAway: () => on(some(), (webhook) => requests.changeUrl(webhook, urlOf(random))),
    setRate: () => on(some(), (webhook) => requests.setRate(webhook, random.pick([undefined, 1, 5, 20]))),
    rotate: () => on(some(), requests.rotate),
    remove: () => on(some(), requests.deleteWebhook),
    add: () => void requests.createWebhook(user(), urlOf(random)),
    share() {
      const [owner, viewer] = [user(), user()];
      if (owner !== viewer && !withdrawn.has(`${owner}>${viewer}`)) requests.share(owner, viewer);
    },
    unshare,
  };
  const bag = Object.entries(WEIGHTS).flatMap(([name, weight]) => Array(weight).fill(name));
  return () => doing[random.pick(bag) as keyof typeof WEIGHTS]();
}

function on(webhook: WebhookRow | undefined, run: (webhook: WebhookRow) => void): void {
  if (webhook) run(webhook);
}
