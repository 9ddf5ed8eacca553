import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { lanes as limits } from '../../../limits.ts';
import type { Log } from '../../../runtime.ts';
import type { OwnedLanes } from '../../../webhooks/delivery/deliver.ts';
import type { TakenLane } from '../../../webhooks/delivery/dispatch.ts';
import { createOwnership, type LaneFence } from '../../../webhooks/delivery/ownership.ts';
import { IS_ALIVE, isOfAnother } from '../deliveries/lanes.ts';
import type { Database, Row } from '../engine/database.ts';
import { statement } from '../engine/statement.ts';
import { DATABASE_NOW, DATABASE_TIME, type DatabaseClock } from './database-clock.ts';

/** The leases of this replica: one row says that it is alive, and each of its lanes names it as the owner. */
export type LaneLeases = OwnedLanes & {
  /** The id of this replica in the rows; a new one after each lease that ended. */
  replica(): string;
  isFor(webhook: string): boolean;
  /** The store found that others own these lanes. */
  lost(lanes: readonly LaneFence[]): void;
};

export type LeaseParts = {
  database: Pick<Database, 'read' | 'write'>;
  /** Set with each check of the other replicas. */
  clock: DatabaseClock;
  log: Log;
  /** Called with lanes that were returned for others to take. */
  onHandOver(webhooks: readonly string[]): void;
};

/** Resolves with the first lease of this replica: without the database nothing can be sent. */
export async function startLeases(parts: LeaseParts): Promise<LaneLeases> {
  const { database, clock, log, onHandOver } = parts;
  const { read, write } = database;
  const ownership = createOwnership(limits);
  const listeners: ((webhooks: readonly string[]) => void)[] = [];
  const leaveListeners: ((webhooks: readonly string[]) => void)[] = [];
  const goneListeners: (() => void)[] = [];
  const stopped = new AbortController();
  /** All ids of this process, so that it does not take an earlier one for a killed replica. */
  const lives: string[] = [];
  let replica = '';
  let renewAt: number | undefined;
  let isBegun = false;
  let dispatches = true;

  /** A replica that failed to renew has lost its lanes; it takes new ones under a new id. */
  function beginLife(): void {
    replica = randomBytes(8).toString('hex');
    lives.push(replica);
    if (lives.length > limits.livesRemembered) lives.shift();
    isBegun = false;
    const lost = ownership.begin(replica).map(({ webhook }) => webhook);
    if (lost.length > 0) for (const listener of listeners) listener(lost);
  }

  async function renew(): Promise<void> {
    const life = replica;
    const sentAt = performance.now();
    const [rows = []] = await write([{ statement: isBegun ? RENEW : BEGIN, values: [life, dispatches] }]);
    if (life !== replica) return;
    if (rows.length === 0) {
      log.warn({}, 'the lease of this replica had ended: it sends what it takes again');
      beginLife();
      return renew();
    }
    isBegun = true;
    ownership.renewed(sentAt);
    renewAt = sentAt + limits.renewMs;
  }

  async function look(): Promise<void> {
    const askedAt = performance.now();
    const [row] = await read(MEMBERS);
    const heardAt = performance.now();
    clock.heard(Number(row?.time), askedAt, heardAt);
    // The statement returns an array of texts.
    const { leaving, isAnyGone } = ownership.see(row?.members as string[], heardAt);
    if (leaving.length > 0) for (const listener of leaveListeners) listener(leaving);
    if (isAnyGone) for (const listener of goneListeners) listener();
  }

  async function beat(): Promise<void> {
    if (renewAt === undefined || performance.now() >= renewAt) await renew();
    await look();
  }

  let hasFailed = false;

  async function tryToBeat(): Promise<boolean> {
    try {
      await beat();
      hasFailed = false;
    } catch (error) {
      log[hasFailed ? 'debug' : 'warn']({ err: error }, 'could not renew the lease of this replica');
      hasFailed = true;
    }
    return !hasFailed;
  }

  async function run(): Promise<void> {
    for (;;) {
      await pause(limits.lookMs, undefined, { signal: stopped.signal }).catch(() => {});
      if (stopped.signal.aborted) return;
      await tryToBeat();
    }
  }

  /** Independent of the renewals, one of which may be waiting for its answer. */
  function watch(): void {
    if (isBegun && performance.now() >= ownership.endsAt()) {
      log.warn({}, 'this replica could not renew its lease: it stops sending');
      beginLife();
      renewAt = undefined;
    }
  }

  async function giveBack(dropped: readonly LaneFence[], isUsed: boolean): Promise<void> {
    if (dropped.length === 0) return;
    const values = [JSON.stringify(dropped), replica, isUsed ? USED : null];
    await write([{ statement: GIVE_BACK, values }]);
    if (isUsed) onHandOver(dropped.map(({ webhook }) => webhook));
  }

  async function finish(): Promise<void> {
    stopped.abort();
    clearInterval(watching);
    await running;
    const own = ownership.owned();
    try {
      await giveBack(ownership.drop(own.map(({ webhook }) => webhook)), true);
      await write([{ statement: END, values: [replica] }]);
    } catch (error) {
      log.warn({ err: error }, 'could not give the lanes back: others take them when the lease ends');
    }
  }

  beginLife();
  while (!(await tryToBeat())) await pause(limits.lookMs);
  const running = run();
  const watching = setInterval(watch, limits.lookMs / 4);
  let stopping: Promise<void> | undefined;
  return {
    async take(webhooks) {
      const life = replica;
      const wanted = ownership.wants(webhooks, performance.now());
      if (wanted.length === 0) return [];
      const [rows = []] = await write([{ statement: TAKE, values: [wanted, life] }]);
      if (life !== replica) return [];
      const heardAt = performance.now();
      const taken = rows.map((row) => toTaken(row, lives));
      for (const { webhook, fence } of taken) ownership.taken(webhook, fence, heardAt);
      return taken;
    },
    giveBack: (webhooks, isUsed) => giveBack(ownership.drop(webhooks), isUsed),
    onLost: (listener) => void listeners.push(listener),
    onLeave: (listener) => void leaveListeners.push(listener),
    onGone: (listener) => void goneListeners.push(listener),
    replica: () => replica,
    mayServe: (webhook) => ownership.mayServe(webhook, performance.now()),
    isFor: ownership.isFor,
    lost(lanes) {
      const own = new Map(ownership.owned().map(({ webhook, fence }) => [webhook, fence]));
      ownership.drop(lanes.flatMap(({ webhook, fence }) => (own.get(webhook) === fence ? [webhook] : [])));
    },
    async drain() {
      dispatches = false;
      await renew().catch((error: unknown) => log.debug({ err: error }, 'could not say that it stops'));
    },
    stop: () => (stopping ??= finish()),
  };
}

/** The owner of a lane that was returned while it had work: its rate may have been used just now. */
const USED = '';

function toTaken({ webhook, fence, before }: Row, lives: readonly string[]): TakenLane {
  return {
    webhook: String(webhook),
    fence: Number(fence),
    isInherited: before !== null,
    isSuspect: before !== null && before !== USED && !lives.includes(String(before)),
  };
}

const BEGIN = statement`WITH gone AS (
    DELETE FROM replicas
    WHERE alive_until < ${DATABASE_NOW} - ${limits.leaseMs}
  )
  INSERT INTO replicas (id, alive_until, dispatches)
  VALUES ($1, ${DATABASE_NOW} + ${limits.leaseMs}, $2)
  ON CONFLICT (id) DO UPDATE
  SET alive_until = excluded.alive_until, dispatches = excluded.dispatches
  RETURNING id`;

const RENEW = statement`UPDATE replicas
  SET alive_until = ${DATABASE_NOW} + ${limits.leaseMs}, dispatches = $2
  WHERE id = $1 AND alive_until > ${DATABASE_NOW}
  RETURNING id`;

const END = statement`DELETE FROM replicas WHERE id = $1`;

const MEMBERS = statement`SELECT ${DATABASE_TIME} AS time, array(
    SELECT r.id
    FROM replicas r
    WHERE r.dispatches AND ${IS_ALIVE}
  ) AS members`;

/** Live replicas keep their lanes. Locks in the same order as `deliveries/outcomes.ts`. */
const TAKE = statement`WITH free AS MATERIALIZED (
    SELECT w.id AS webhook, w.owner AS subscriber
    FROM webhooks w
    WHERE w.id = ANY ($1::text[]) AND w.status = 'enabled' AND NOT ${isOfAnother('w.id', '$2')}
  ), known AS MATERIALIZED (
    SELECT webhook, replica
    FROM lanes
    WHERE webhook IN (SELECT webhook FROM free)
    ORDER BY webhook
    FOR NO KEY UPDATE
  ), taken AS (
    INSERT INTO lanes AS l (webhook, subscriber, replica, fence)
    SELECT f.webhook, f.subscriber, $2, 1
    FROM free f
    LEFT JOIN known k ON k.webhook = f.webhook
    ORDER BY f.webhook
    ON CONFLICT (webhook) DO UPDATE
    SET replica = excluded.replica, fence = l.fence + 1
    WHERE NOT EXISTS (
      SELECT 1
      FROM replicas r
      WHERE r.id = l.replica AND r.id <> excluded.replica AND ${IS_ALIVE}
    )
    RETURNING webhook, fence
  )
  SELECT t.webhook, t.fence, k.replica AS before
  FROM taken t
  LEFT JOIN known k ON k.webhook = t.webhook`;

/** A lane that was taken meanwhile has another fence. */
const GIVE_BACK = statement`WITH own AS MATERIALIZED (
    SELECT l.webhook
    FROM json_to_recordset($1) AS i(webhook text, fence int8)
    JOIN lanes l ON l.webhook = i.webhook AND l.fence = i.fence AND l.replica = $2
    ORDER BY l.webhook
    FOR NO KEY UPDATE OF l
  )
  UPDATE lanes l
  SET replica = $3
  FROM own o
  WHERE l.webhook = o.webhook`;
