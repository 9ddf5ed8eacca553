import type { DatabaseUrl } from '../../database-url.ts';
import { AppError } from '../../errors.ts';
import type { Caller } from '../../idempotency.ts';
import type { Clock, Log } from '../../runtime.ts';
import { groupCommit } from '../batch.ts';
import { fault, refuseUndone } from '../once.ts';
import type { Store } from '../store.ts';
import { choreReads, choreWrites } from './chores.ts';
import { type Create, type Created, NO_ID_ABOVE } from './create.ts';
import { type CreateRules, createBelow, creates, deletes } from './creates.ts';
import { openDatabase } from './database.ts';
import { createTest, deliveryReads, redeliver, startReplay } from './deliveries.ts';
import { createDispatch } from './dispatch.ts';
import { eventReads } from './events.ts';
import { startHeartbeat } from './heartbeat.ts';
import { keepAnswer, keptAnswer } from './idempotency.ts';
import { migrate } from './migrate.ts';
import { createNews } from './news.ts';
import { pageReads } from './page-reads.ts';
import { listEnd, plantPages } from './plants.ts';
import { addShare, removeShare, shareReads } from './shares.ts';
import { createToken, revokeToken, rotateToken, setBootstrapToken, tokenReads } from './tokens.ts';
import { createUser, deleteUser, ensureUser, setUserDisabled, userReads } from './users.ts';
import { visibleOwners } from './visible-owners.ts';
import { changeWebhook, createWebhook, deleteWebhook, rotateSecret, webhookReads } from './webhooks.ts';
import { alone, batched, type Command, createWriter, type Work } from './writer.ts';

export type PostgresOptions = CreateRules & {
  url: DatabaseUrl;
  /** Connections that are open at a time, at most; one more listens for hints. */
  connections: number;
  /** Whether a pooler stands between that gives each transaction another session. */
  pooled: boolean;
  /** Into how many partitions the tables that grow are divided, when the store is made. */
  partitions?: number | undefined;
  clock: Clock;
  log: Log;
};

/** Opens the store in a PostgreSQL database, makes it when it is not there, and brings its schema up to date. */
export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const { log, clock } = options;
  const database = openDatabase(options);
  try {
    const applied = await migrate(database, { now: clock.now(), partitions: options.partitions });
    for (const migration of applied)
      log.info({ migration }, 'the schema of the store was brought up to date');
    return await openOn(database, options);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function openOn(database: ReturnType<typeof openDatabase>, options: PostgresOptions): Promise<Store> {
  const { clock, log, connections, pooled, maxPlantsPerUser } = options;
  const heartbeat = await startHeartbeat(database, log);
  const visible = visibleOwners(database, heartbeat.epoch);
  const dispatch = createDispatch(database);
  const events = eventReads(database, visible);
  const news = createNews({
    database,
    log,
    listens: !pooled,
    heartbeat,
    dispatch,
    unsettled: events.unsettled,
  });

  const write = createWriter(database, news.publish);
  const commits = groupCommit<Command>(write, clock);
  // Of its own, so that plants do not wait for deliveries, nor these for plants.
  const dispatched = groupCommit<Command>(write, clock);
  const submit = (command: Command, bytes: number, caller?: Caller) =>
    commits.submit(command, bytes, 'bounded', caller).then(refuseUndone);

  /** A write as a transaction of its own. */
  async function run<T>(work: Work<T>, caller?: Caller, hadEffect?: (outcome: T) => boolean): Promise<T> {
    // The writer returns what the work does (`alone`), unless nothing was done.
    return (await submit(alone(work, caller, hadEffect), COMMAND_BYTES, caller)) as T;
  }

  const creating = creates(options);
  async function create(command: Create): Promise<Created> {
    const { plant, caller } = command;
    const bytes = COMMAND_BYTES + 2 * (plant.name.length + (plant.tag?.length ?? 0));
    // The writer returns what the kind says.
    const created = (await submit(batched(creating, command), bytes, caller)) as Created;
    if (created !== NO_ID_ABOVE) return created;
    return (await submit({ work: createBelow(creating, command) }, bytes, caller)) as Created;
  }

  const users = userReads(database);
  const tokens = tokenReads(database);
  const shares = shareReads(database);
  const webhooks = webhookReads(database);
  const deliveries = deliveryReads(database, visible);
  // The others are left to writes and to what is read one at a time.
  const page = plantPages(pageReads(database, Math.ceil(connections / 2)), visible);
  const chores = choreReads(database);
  const longWork = choreWrites();
  const key = await storeKey(database);
  let closing: Promise<void> | undefined;

  /** A slice of long work: beside the queues, which must not wait for it. */
  async function slice<T>(work: Work<T>): Promise<T> {
    const { outcomes, failures } = await write([alone(work, undefined)]);
    if (failures[0]) throw failures[0].error;
    return outcomes[0] as T;
  }

  async function close(): Promise<void> {
    await Promise.all([commits.close(), dispatched.close()]);
    heartbeat.stop();
    await news.close();
    await database.close();
  }

  return {
    plants: {
      async create(plant, caller) {
        const created = await create({ plant, caller });
        if (typeof created === 'bigint') return { created };
        if (created === 'full') return { full: maxPlantsPerUser ?? Infinity };
        if (plant.id === undefined) throw fault(new Error('the store chose an id that was taken'));
        return { taken: plant.id };
      },
      delete: async (owner, id, caller) =>
        (await submit(batched(deletes, { owner, id, caller }), COMMAND_BYTES, caller)) as boolean,
      page,
      end: listEnd(database, visible),
    },
    access: {
      createUser: (user) => run(createUser(user)),
      ensureUser: async (user) => (await users.user(user.name)) ?? run(ensureUser(user)),
      ...users,
      setUserDisabled: (name, isDisabled, at) => run(setUserDisabled(name, isDisabled, at)),
      deleteUser: (name, at) => run(deleteUser(name, at)),
      addShare: (share, most) => run(addShare(share, most)),
      removeShare: (share) => run(removeShare(share)),
      ...shares,
      visibleOwners: visible.of,
      createToken: (token) => run(createToken(token)),
      ...tokens,
      rotateToken: (rotation) => run(rotateToken(rotation)),
      revokeToken: (id, at) => run(revokeToken(id, at)),
      setBootstrapToken: (token) => run(setBootstrapToken(token)),
      accessEpoch: heartbeat.epoch,
    },
    keys: {
      keptAnswer: (request, now) => keptAnswer(database, request, now),
      keepAnswer: (once) => {
        const caller = { user: once.user, hasLeft: () => false, once: undefined };
        return run(keepAnswer(once), caller);
      },
    },
    webhooks: {
      createWebhook: (webhook, most, caller) => run(createWebhook(webhook, most), caller),
      ...webhooks,
      changeWebhook: (owner, id, change, caller) => run(changeWebhook(owner, id, change), caller),
      deleteWebhook: (owner, id, caller) => run(deleteWebhook(owner, id), caller),
      rotateSecret: (owner, id, rotation, caller) =>
        run(rotateSecret(owner, id, rotation), caller, (outcome) => outcome === 'rotated'),
      health: deliveries.health,
    },
    deliveries: {
      ...deliveries,
      createTest: (test, caller) => run(createTest(test), caller),
      redeliver: (request, caller) => run(redeliver(request), caller, (outcome) => outcome === 'redelivered'),
      startReplay: (request, most, caller) => run(startReplay(request, most), caller),
    },
    outbox: {
      ...dispatch.outbox((command) => dispatched.submit(command, COMMAND_BYTES, 'open')),
      onDue: news.onDue,
      onChange: news.onChange,
    },
    events: { events: events.events, latestPosition: events.latestPosition, onEvents: news.onEvents },
    chores: {
      hasChores: chores.hasChores,
      advance: (request) => slice(longWork.advance(request)),
      removeExpired: (request) => slice(longWork.removeExpired(request)),
    },
    key,
    isFull: commits.isFull,
    check: heartbeat.check,
    close: () => (closing ??= close()),
  };
}

/** What a command without text of any length is counted as in the queue's bound. */
const COMMAND_BYTES = 512;

async function storeKey({ read }: ReturnType<typeof openDatabase>): Promise<number> {
  const [row] = await read({ name: 'meta-key', text: `SELECT value FROM meta WHERE name = 'key'` });
  if (!row) throw new AppError(50302, 'The store has no key.');
  return Number(row.value);
}
