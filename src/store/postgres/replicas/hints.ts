import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { database as limits } from '../../../limits.ts';
import type { Log } from '../../../runtime.ts';
import type { Work } from '../../../webhooks/delivery/port.ts';
import { together } from '../../lane-threads.ts';
import { type Database, statement } from '../engine/database.ts';
import { PROBES, sessionUrl } from '../engine/session.ts';

/** What the dispatcher and streams of this replica, and other replicas, must learn from a transaction. */
export type Announced = {
  lanes: Work[];
  /** The owners of new events. */
  owners: number[];
  /** Webhooks that were deleted, disabled, enabled, or got another URL. */
  changed: string[];
  /** Whether tokens, users or shares changed. */
  access: boolean;
};

export function nothingAnnounced(): Announced {
  return { lanes: [], owners: [], changed: [], access: false };
}

export type HintsOptions = {
  database: Database;
  log: Log;
  /** False behind a pooler: then this replica only sends hints. */
  listens: boolean;
  onHint(announced: Announced): void;
};

const CHANNEL = 'plant_store';
const NOTIFY = statement`SELECT pg_notify('${CHANNEL}', message) FROM unnest($1::text[]) AS message`;

/** The sender, to recognize its own hints, and what it announced. */
type Message = [sender: string, announced: Announced];

/**
 * Tells other replicas what a transaction announced, and hears them (`NOTIFY`, `LISTEN`). Hints may get lost: receivers
 * also check from time to time.
 */
export function createHints(options: HintsOptions) {
  const { database, log } = options;
  const sender = randomBytes(8).toString('hex');
  const ear = options.listens ? listen(options, sender) : undefined;
  let pending: Announced[] = [];
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<unknown> = Promise.resolve();
  let sentAt = -Infinity;

  /** In a transaction of its own: `NOTIFY` locks the whole server through its commit, which is short without writes. */
  function flush(): void {
    timer = undefined;
    sentAt = performance.now();
    const announced = compact(pending);
    pending = [];
    const messages = parts(announced).map((part) => JSON.stringify([sender, part] satisfies Message));
    sending = database.read(NOTIFY, [messages]).catch((error: unknown) => {
      log.debug({ err: error }, 'a hint was not sent');
    });
  }

  return {
    send(announced: Announced): void {
      const { lanes, owners, changed, access } = announced;
      if (lanes.length + owners.length + changed.length === 0 && !access) return;
      pending.push(announced);
      timer ??= setTimeout(flush, Math.max(0, sentAt + limits.hintMs - performance.now()));
    },
    async close(): Promise<void> {
      clearTimeout(timer);
      if (timer) flush();
      await sending;
      await ear?.close();
    },
  };
}

function compact(all: readonly Announced[]): Announced {
  const first = new Map<string, Work>();
  for (const lane of all.flatMap(({ lanes }) => lanes))
    first.set(lane.webhook, together(first.get(lane.webhook), lane));
  return {
    lanes: [...first.values()],
    owners: [...new Set(all.flatMap(({ owners }) => owners))],
    changed: [...new Set(all.flatMap(({ changed }) => changed))],
    access: all.some(({ access }) => access),
  };
}

/** Splits hints into messages, because PostgreSQL limits one to less than 8000 bytes. */
function parts({ lanes, owners, changed, access }: Announced): Announced[] {
  const each = limits.hintEntries;
  const count = Math.max(1, Math.ceil(Math.max(lanes.length, owners.length, changed.length) / each));
  return Array.from({ length: count }, (_, n) => {
    const piece = <T>(all: T[]): T[] => all.slice(n * each, (n + 1) * each);
    return { lanes: piece(lanes), owners: piece(owners), changed: piece(changed), access };
  });
}

/** Listens on a connection of its own, and reconnects when it breaks or the primary changes. */
function listen({ database, log, onHint }: HintsOptions, sender: string) {
  const closed = new AbortController();
  let retryMs: number = limits.listenRetryMs.first;

  /** Until the connection ends, the server falls silent, or another one is the primary. */
  async function listenTo(url: string): Promise<void> {
    closed.signal.throwIfAborted();
    const client = new pg.Client({
      connectionString: sessionUrl(url, PROBES),
      connectionTimeoutMillis: limits.connectMs,
      query_timeout: limits.connectMs,
      application_name: 'plant-store hints',
    });
    const ended = new AbortController();
    const over = AbortSignal.any([closed.signal, ended.signal]);
    over.addEventListener('abort', () => leave(client));
    client.on('error', () => {});
    client.on('end', () => ended.abort());
    client.on('notification', ({ payload = '' }) => hear(payload));
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      retryMs = limits.listenRetryMs.first;
      do {
        await pause(limits.listenProofMs, undefined, { signal: over });
        await client.query('SELECT 1');
      } while ((await database.primaryUrl().catch(() => url)) === url);
    } finally {
      leave(client);
    }
  }

  async function run(): Promise<void> {
    while (!closed.signal.aborted) {
      await database
        .primaryUrl()
        .then(listenTo)
        .catch(
          (error: unknown) => closed.signal.aborted || log.debug({ err: error }, 'not listening for hints'),
        );
      await pause(retryMs, undefined, { signal: closed.signal }).catch(() => {});
      retryMs = Math.min(2 * retryMs, limits.listenRetryMs.most);
    }
  }

  function hear(payload: string): void {
    const message = parse(payload);
    if (message && message[0] !== sender) onHint(message[1]);
  }

  const running = run();
  return {
    close(): Promise<void> {
      closed.abort();
      return running;
    },
  };
}

/**
 * Does not wait for an answer, since the other side may be gone. Fails what is in progress, connecting included, which
 * `end` would leave unsettled.
 */
function leave(client: pg.Client): void {
  // The library's types omit the connection.
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}

/**
 * Undefined for messages not from a replica of this program: any database user may send some, and values that would fail
 * every statement that uses them must not come from outside.
 */
function parse(payload: string): Message | undefined {
  try {
    // Its parts are checked below, or throw.
    const message = JSON.parse(payload) as Message;
    const [sender, { lanes, owners, changed }] = message;
    const isHint =
      typeof sender === 'string' &&
      lanes.every(isWork) &&
      owners.every(Number.isSafeInteger) &&
      changed.every(isId);
    return isHint ? message : undefined;
  } catch {
    return undefined;
  }
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && /^\w+$/.test(value);
}

function isWork({ webhook, due = 0, isAsked = false }: Work): boolean {
  return isId(webhook) && Number.isSafeInteger(due) && typeof isAsked === 'boolean';
}
