import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../../testkit/random/seeded.ts';
import { monotonicMs } from '../../measure/clock.ts';
import { createClient } from './client.ts';
import type { Entry } from './history.ts';
import { startReceiver } from './receiver.ts';
import { createRequests, type Requests } from './requests.ts';

export type WorkloadOptions = {
  /** Of the replicas, without a trailing slash. */
  urls: readonly string[];
  /** The owner's, with every scope. */
  token: string;
  /** A user who creates nothing, and how to share the owner's plants with them; `share` may reject. */
  viewer?: { token: string; share(isShared: boolean): Promise<void> };
  /** Where the service reaches this process; by default a free port of the loopback. */
  receiverUrl?: string;
  /** The file of the history; an existing one is replaced. */
  out: string;
  seed: number;
  /** Requests per second, roughly, while they are answered at once. */
  rate: number;
  /** How long a replica may accept a revoked token, 5 s by default: tokens and shares change at this pace. */
  graceMs?: number;
};

export type Workload = {
  /** How many requests were sent so far. */
  count(): number;
  /** Ends the clients, waits until no delivery waits, and reads list and feed through each replica. */
  stop(): Promise<void>;
};

type Parts = WorkloadOptions & {
  requests: Requests;
  client: ReturnType<typeof createClient>;
  random: () => number;
  record(entry: Entry): void;
  graceMs: number;
  /** Ids; they are deleted at the end. */
  webhooks: readonly string[];
};
/** Repeats a step, with random pauses of up to `pauseMs`, until the workload is stopped. */
type Repeat = (pauseMs: number, step: () => Promise<unknown>) => void;

const CLIENTS = 8;
const FOLLOWERS = 2;
const POLL_MS = 200;
const FEED_PAGE = 1_000;
const WEBHOOKS = 3;
const TOKENS = 3;
/** How often a token is tried: while it is valid, while it may still be accepted, and then. */
const USES = { valid: 5, grace: 8, after: 6 };
const LONGER_MS = 300;
/** How long to wait for an answer that must come at last, and until no delivery waits; and between two tries. */
const PATIENCE_MS = 90_000;
const PAUSE_MS = 50;

/** Starts clients, followers and a receiver. Rejects when the service does not answer for 90 s. */
export async function startWorkload(options: WorkloadOptions): Promise<Workload> {
  const { urls, token, viewer, seed, graceMs = 5_000, receiverUrl = 'http://127.0.0.1:0' } = options;
  const file = createWriteStream(options.out);
  const record = (entry: Entry) => void file.write(`${JSON.stringify(entry)}\n`);
  const random = seededRandom(seed);
  const run = `r${Date.now().toString(36)}-`;
  record({ kind: 'start', run, seed, replicas: urls.length });
  const tokens = { owner: token, viewer: viewer?.token ?? '' };
  const requests = createRequests({ urls, tokens, random, record });
  const client = createClient({ requests, random, run, hasViewer: viewer !== undefined });
  const receiver = await startReceiver({ url: receiverUrl, random, record });

  const webhooks: string[] = [];
  const subscribe = async (webhook: number) => {
    const url = receiver.urlOf(webhook);
    const made = await persist(() => requests.subscribe(webhook, url, `${run}webhook-${webhook}`));
    if (made === undefined) return;
    receiver.trust(webhook, made.secret);
    webhooks.push(made.id);
  };
  for (let webhook = 1; webhook <= WEBHOOKS; webhook++) await subscribe(webhook);
  const cursor = await endOfFeed(requests);

  let isOver = false;
  const running = [subscribe(WEBHOOKS + 1)];
  const repeat: Repeat = (pauseMs, step) => {
    const steps = async () => {
      for (; !isOver; await sleep(random() * pauseMs)) await step();
    };
    running.push(steps());
  };
  const parts = { ...options, requests, client, random, record, graceMs, webhooks };
  begin(parts, cursor, repeat);
  return {
    count: requests.count,
    async stop() {
      isOver = true;
      await Promise.all(running);
      await settle(parts, cursor);
      for (const id of webhooks) await requests.send('DELETE', `/webhooks/${id}`);
      await receiver.stop();
      await finished(file.end());
    },
  };
}

function begin(parts: Parts, cursor: string, repeat: Repeat): void {
  const { requests, client, random, rate, graceMs, viewer } = parts;
  for (let n = 0; n < CLIENTS; n++) repeat((2_000 * CLIENTS) / rate, client.step);
  for (let follower = 1; follower <= FOLLOWERS; follower++) {
    const at = { follower, cursor, isFinal: false };
    repeat(POLL_MS, () => requests.feed(at, 1 + Math.floor(random() * 100)));
  }
  for (let n = 1; n <= TOKENS; n++) {
    let token = n;
    repeat(graceMs, () => {
      token += TOKENS;
      return tryToken(parts, token);
    });
  }
  let isShared = false;
  if (viewer)
    repeat(graceMs + LONGER_MS, () => {
      isShared = !isShared;
      return share(parts, isShared);
    });
}

/** Creates a token, uses it, revokes it and goes on using it, at each replica in turn. */
async function tryToken({ requests, graceMs, urls }: Parts, token: number): Promise<void> {
  const made = await requests.createToken(token);
  if (made === undefined) return;
  const use = async (times: number) => {
    for (let n = 0; n < times; n++) {
      await requests.use(token, made.secret, n % urls.length);
      await sleep((graceMs + LONGER_MS) / USES.grace);
    }
  };
  await use(USES.valid);
  if (await persist(() => requests.revoke(token, made.id))) await use(USES.grace + USES.after);
}

/** Shares the plants or no longer, and waits until every replica must know. */
async function share({ viewer, record, graceMs }: Parts, isShared: boolean): Promise<void> {
  await persist(async () => {
    const begin = monotonicMs();
    const isDone = await viewer?.share(isShared).then(
      () => true,
      () => false,
    );
    record({ kind: 'share', isShared, begin, end: monotonicMs(), isDone: isDone === true });
    return isDone || undefined;
  });
  await sleep(graceMs);
}

async function settle({ requests, client, record, urls, webhooks }: Parts, cursor: string): Promise<void> {
  const begin = monotonicMs();
  const quiet = await persist(async () => {
    const { status, text } = await requests.send('GET', '/webhooks');
    if (status !== 200) return undefined;
    const all: { id: string; waiting: number }[] = JSON.parse(text);
    return all.every(({ id, waiting }) => waiting === 0 || !webhooks.includes(id)) || undefined;
  });
  for (const via of urls.keys()) {
    const at = { follower: -1 - via, cursor, isFinal: true };
    const left = new Set(client.made);
    await persist(async () => {
      const events = await requests.feed(at, FEED_PAGE, via);
      for (const { name } of events ?? []) left.delete(name);
      return (left.size === 0 && events !== undefined && events.length < FEED_PAGE) || undefined;
    });
    await persist(() => client.list('owner', { via }));
  }
  record({ kind: 'settled', begin, end: monotonicMs(), isQuiet: quiet === true });
}

/** Where the feed ends now. */
async function endOfFeed({ send }: Requests): Promise<string> {
  let cursor = '';
  const end = await persist(async () => {
    const { status, text } = await send('GET', `/events?limit=${FEED_PAGE}${cursor && `&cursor=${cursor}`}`);
    if (status !== 200) return undefined;
    const page = JSON.parse(text);
    cursor = page.cursor;
    return page.events.length < FEED_PAGE ? cursor : undefined;
  });
  if (end === undefined) throw new Error('The service did not show its events.');
  return end;
}

/** Tries until there is a result; undefined when there is none in time. */
async function persist<T>(step: () => Promise<T | undefined>): Promise<T | undefined> {
  for (const start = monotonicMs(); monotonicMs() - start < PATIENCE_MS; await sleep(PAUSE_MS)) {
    const result = await step();
    if (result !== undefined) return result;
  }
  return undefined;
}
