import pg from 'pg';
import { database as limits } from '../../limits.ts';
import type { Log } from '../../runtime.ts';
import { type Announced, type Lane, nothingAnnounced } from './announced.ts';
import type { Database, Statement } from './database.ts';

/**
 * Tells the other replicas what a transaction announced, and this one what others did (`NOTIFY`, `LISTEN`). All of it
 * may be lost: whoever is told looks by itself from time to time.
 */
export type Hints = {
  send(announced: Announced): void;
  close(): Promise<void>;
};

export type HintsOptions = {
  database: Database;
  log: Log;
  /** False where a pooler stands between: then nobody is heard, but told. */
  listens: boolean;
  /** Called with what another replica announced. */
  onHint(announced: Announced): void;
  /** Called when it is listened again: what was told meanwhile was not heard. */
  onListening(): void;
};

const CHANNEL = 'plant_store';
const NOTIFY: Statement = {
  name: 'hints-notify',
  text: `SELECT pg_notify('${CHANNEL}', message) FROM unnest($1::text[]) AS message`,
};

/** As it is sent: the sender, by which one knows one's own, and what was announced. */
type Message = [sender: string, announced: Announced];

export function createHints(options: HintsOptions, sender: string): Hints {
  const { database, log } = options;
  const ear = options.listens ? listen(options, sender) : undefined;
  let pending = nothingAnnounced();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<unknown> = Promise.resolve();

  /**
   * In a transaction of its own behind the commit: `NOTIFY` takes a lock of the whole server through its commit, which
   * without any writes lasts for microseconds.
   */
  function flush(): void {
    timer = undefined;
    const announced = compact(pending);
    pending = nothingAnnounced();
    const messages = parts(announced).map((part) => JSON.stringify([sender, part] satisfies Message));
    sending = database.read(NOTIFY, [messages]).catch((error: unknown) => {
      log.debug({ err: error }, 'a hint was not sent');
    });
  }

  return {
    send(announced) {
      pending.lanes.push(...announced.lanes);
      pending.owners.push(...announced.owners);
      pending.changed.push(...announced.changed);
      pending.access ||= announced.access;
      if (!isEmpty(pending)) timer ??= setTimeout(flush, limits.hintMs);
    },
    async close() {
      clearTimeout(timer);
      if (timer) flush();
      await sending;
      await ear?.close();
    },
  };
}

function isEmpty({ lanes, owners, changed, access }: Announced): boolean {
  return lanes.length + owners.length + changed.length === 0 && !access;
}

/** Each lane and owner once. */
function compact({ lanes, owners, changed, access }: Announced): Announced {
  const first = new Map<string, Lane>();
  for (const lane of lanes) {
    const known = first.get(lane.webhook);
    if (!known || (known.due ?? 0) > (lane.due ?? 0)) first.set(lane.webhook, lane);
  }
  return { lanes: [...first.values()], owners: [...new Set(owners)], changed: [...new Set(changed)], access };
}

/** As many messages as it takes: PostgreSQL sends less than 8000 bytes in one. */
function parts({ lanes, owners, changed, access }: Announced): Announced[] {
  const pieces: Announced[] = [];
  const each = limits.hintEntries;
  for (
    let from = 0;
    from === 0 || from < Math.max(lanes.length, owners.length, changed.length);
    from += each
  ) {
    const piece = <T>(all: T[]): T[] => all.slice(from, from + each);
    pieces.push({ lanes: piece(lanes), owners: piece(owners), changed: piece(changed), access });
  }
  return pieces;
}

/** Listens on a connection of its own, and connects again whenever it breaks off. */
function listen({ database, log, onHint, onListening }: HintsOptions, sender: string) {
  let client: pg.Client | undefined;
  let retryMs: number = limits.listenRetryMs.first;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function connect(): Promise<void> {
    try {
      const connecting = new pg.Client({
        connectionString: await database.primaryUrl(),
        connectionTimeoutMillis: limits.connectMs,
        application_name: 'plant-store hints',
        keepAlive: true,
      });
      client = connecting;
      connecting.on('error', () => {});
      connecting.on('end', reconnect);
      connecting.on('notification', ({ payload }) => hear(payload ?? ''));
      await connecting.connect();
      await connecting.query(`LISTEN ${CHANNEL}`);
      retryMs = limits.listenRetryMs.first;
      onListening();
    } catch (error) {
      log.debug({ err: error }, 'could not listen for hints');
      if (client) await client.end().catch(() => {});
      reconnect();
    }
  }

  function reconnect(): void {
    if (isClosed || timer) return;
    timer = setTimeout(() => {
      timer = undefined;
      void connect();
    }, retryMs);
    retryMs = Math.min(2 * retryMs, limits.listenRetryMs.most);
  }

  function hear(payload: string): void {
    const message = parse(payload);
    if (message && message[0] !== sender) onHint(message[1]);
  }

  const connected = connect();
  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await connected;
      await client?.end().catch(() => {});
    },
  };
}

/** Undefined for what no replica of this program has sent: everybody may notify. */
function parse(payload: string): Message | undefined {
  try {
    const [sender, announced]: unknown[] = JSON.parse(payload);
    if (typeof sender !== 'string') return undefined;
    // What is no object has no such members, or throws.
    const { lanes, owners, changed, access } = announced as Record<keyof Announced, unknown>;
    if (!Array.isArray(lanes) || !Array.isArray(owners) || !Array.isArray(changed)) return undefined;
    return [
      sender,
      {
        lanes: lanes.filter(isLane),
        owners: owners.filter((owner) => typeof owner === 'number'),
        changed: changed.filter((webhook) => typeof webhook === 'string'),
        access: access === true,
      },
    ];
  } catch {
    return undefined;
  }
}

function isLane(lane: unknown): lane is Lane {
  return (
    typeof lane === 'object' &&
    lane !== null &&
    'subscriber' in lane &&
    typeof lane.subscriber === 'number' &&
    'webhook' in lane &&
    typeof lane.webhook === 'string' &&
    (!('due' in lane) || typeof lane.due === 'number')
  );
}
