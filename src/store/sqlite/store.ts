import type { DatabaseSync } from 'node:sqlite';
import type { AccessStore } from '../../access/port.ts';
import type { Caller, KeyStore } from '../../idempotency/port.ts';
import type { Measures } from '../../observability/port.ts';
import type { PlantStore } from '../../plants/port.ts';
import { type Clock, type Log, silentLog } from '../../runtime.ts';
import type { DeliveryStore, WebhookStore } from '../../webhooks/port.ts';
import { bytesWith, COMMAND_BYTES, groupCommit } from '../batch.ts';
import { CURSOR_KEYS, toCursorKeys } from '../rows.ts';
import type { Store, WriteRules } from '../store.ts';
import { refuseUndone } from '../write-outcomes.ts';
import { shareReads } from './access/shares.ts';
import { tokenReads } from './access/tokens.ts';
import { userReads } from './access/users.ts';
import { accessEpoch, type VisibleOwners, visibleOwners } from './access/visible-owners.ts';
import { choreReads } from './deliveries/chores.ts';
import { deliveryReads } from './deliveries/deliveries.ts';
import { eventReads } from './deliveries/events.ts';
import { findWork, laneReads } from './deliveries/lanes.ts';
import type { Announced } from './deliveries/outbox.ts';
import { webhookReads } from './deliveries/webhooks.ts';
import { openConnection } from './engine/connection.ts';
import { fromPlain, type StoreFailure } from './engine/failure.ts';
import { migrate } from './engine/migrate.ts';
import { sizeOf, storeReads } from './engine/readings.ts';
import { createSnapshot, type Snapshot } from './engine/snapshot.ts';
import { lookAtFiles, storeFiles } from './engine/store-files.ts';
import { type Watch, watchStore } from './engine/watch.ts';
import type { Command, WriteName, Writes } from './engine/writer.ts';
import { inlineWriter, threadWriter, type Writer } from './engine/writer-client.ts';
import { idempotencyReads } from './plants/idempotency.ts';
import { plantReads } from './plants/plants.ts';
import { createVersions, type Versions, versionReads } from './plants/versions.ts';

export type SqliteOptions = WriteRules & {
  path: string;
  /** `thread` for a server; `inline` for a program that writes little and exits. */
  writer: 'thread' | 'inline';
  clock: Clock;
  log?: Log;
  measures?: Measures | undefined;
  /** Called before an older store is migrated; may throw to leave it unchanged. */
  beforeMigration?: () => void;
  /**
   * Called once, when the outcome of a commit is unknown or the store is damaged or lost for good. The process must
   * exit soon, and recovery decides at the next start. Waiting callers get 50301 right after this call; later writes
   * are refused. The store must not be closed then.
   */
  onFatal(failure: StoreFailure): void;
};

type SqliteStore = Store & {
  /** The newest event's id, even of a removed one. New ids must be greater, since their order is that of the feed. */
  latestEvent(): string | undefined;
};

/** Opens the embedded store, creates it if it does not exist, and migrates its schema. */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  const db = openMigrated(options);
  const { path, deliveryDelayMs, maxPlantsPerUser, measures } = options;
  const versions = createVersions();
  const rules = { deliveryDelayMs, maxPlantsPerUser, versions };
  const files = options.writer === 'thread' ? storeFiles(lookAtFiles(path)) : undefined;
  const watch = watchStore({ path, db, files, log: options.log ?? silentLog, onFatal: options.onFatal });
  const thread =
    files &&
    threadWriter(
      { path, files: files.known, rules },
      { died: watch.end, senderBatchEnded: watch.batchEnded },
    );
  const writer = thread ?? inlineWriter(db, rules);
  if (files) db.exec('PRAGMA query_only = ON');

  const snapshot = createSnapshot(db, watch);
  const listeners: Listener[] = [];
  const write = (commands: Command[]) => commit(commands, { writer, snapshot, listeners, watch });
  const commits = groupCommit<Command>(write, {
    batchEnded: measures && ((batch) => measures.batchEnded('writes', batch)),
  });
  const submit = submitTo(commits);
  const epoch = accessEpoch(db, snapshot);
  const visible = visibleOwners(db, snapshot, epoch);
  const lanes = laneReads(db);
  const readAgain = () => snapshot.read(() => lanes.findPart(undefined, 1));
  const parts: Parts = { db, snapshot, epoch, visible, versions, submit };
  const { webhooks: webhooksReading } = storeReads(db, snapshot);
  const newest = db.prepare(`SELECT max(id) AS id
    FROM (
      SELECT max((SELECT max(id) FROM events WHERE owner = users.id)) AS id
      FROM users
      UNION ALL
      SELECT max(event)
      FROM removed_events
    )`);
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    await commits.close();
    snapshot.end();
    watch.stop();
    await writer.close();
    db.close();
  }

  return {
    plants: plantStore(parts),
    access: accessStore(parts),
    keys: keyStore(parts),
    webhooks: webhookStore(parts),
    deliveries: deliveryStore(parts),
    lanes: {
      hasWork: async () => (await findWork(snapshot, lanes, undefined, 1)).length > 0,
      onWork: (listener) => void listeners.push(({ work }) => work.length > 0 && listener()),
      connect() {
        if (!thread) throw new Error('a store with an inline writer cannot connect a sender thread');
        return { kind: 'sqlite', path, port: thread.connect() };
      },
      couldNotRead: (error) => void watch.readFailed(fromPlain(error).cause, readAgain),
    },
    events: {
      ...eventReads(db, snapshot, visible),
      onEvents: (listener) => void listeners.push(({ owners }) => owners.length > 0 && listener(owners)),
    },
    chores: {
      ...choreReads(db, snapshot),
      advance: (slice) => submit(undefined, 'advance', [slice]),
      removeExpired: (request) => submit(undefined, 'removeExpired', [request]),
    },
    readings: {
      kind: 'sqlite',
      queues: () => [{ queue: 'writes', ...commits.waiting() }],
      size: () => sizeOf(path),
      webhooks: webhooksReading,
    },
    cursorKeys: toCursorKeys(db.prepare(CURSOR_KEYS).get() ?? {}),
    latestEvent: () => snapshot.read(() => newest.get()?.id?.toString()),
    isFull: commits.isFull,
    refresh: snapshot.end,
    check() {
      watch.check();
      epoch();
    },
    close: () => (closing ??= close()),
  };
}

function openMigrated({ path, clock, beforeMigration }: SqliteOptions): DatabaseSync {
  const db = openConnection(path);
  try {
    migrate(db, clock.now(), beforeMigration);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

type Parts = {
  submit: ReturnType<typeof submitTo>;
  db: DatabaseSync;
  snapshot: Snapshot;
  epoch: () => number;
  visible: VisibleOwners;
  versions: Versions;
};

function plantStore(parts: Parts): PlantStore {
  const { db, snapshot, visible, submit } = parts;
  return {
    create: ({ owner, id, name, tag, event, at, trace }, caller) =>
      submit(caller, 'createPlant', [owner, id, name, tag, event, at, trace], bytesWith(name, tag)),
    delete: (owner, id, caller) => submit(caller, 'deletePlant', [owner, id]),
    ...plantReads(db, snapshot, visible),
    stamp: versionReads(db, parts),
  };
}

function accessStore({ db, snapshot, epoch, visible, submit }: Parts): AccessStore {
  return {
    ...userReads(db, snapshot),
    ...shareReads(db, snapshot),
    ...tokenReads(db, snapshot),
    createUser: (user) => submit(undefined, 'createUser', [user]),
    setUserDisabled: (name, isDisabled, at) => submit(undefined, 'setUserDisabled', [name, isDisabled, at]),
    deleteUser: (name, at) => submit(undefined, 'deleteUser', [name, at]),
    addShare: (share, most) => submit(undefined, 'addShare', [share, most]),
    removeShare: (share) => submit(undefined, 'removeShare', [share]),
    visibleOwners: async (viewer) => snapshot.read(() => visible.of(viewer)),
    createToken: (token, asking, caller) => submit(caller, 'createToken', [token, asking]),
    rotateToken: (rotation, asking, caller) => submit(caller, 'rotateToken', [rotation, asking]),
    revokeToken: (id, at, user, caller) => submit(caller, 'revokeToken', [id, at, user]),
    recordUses: (uses) => submit(undefined, 'recordUses', [uses]),
    setBootstrapToken: (token) => submit(undefined, 'setBootstrapToken', [token]),
    accessEpoch: epoch,
  };
}

function keyStore({ db, snapshot, submit }: Parts): KeyStore {
  return {
    ...idempotencyReads(db, snapshot),
    async keepAnswer(once) {
      await submit({ user: once.user, hasLeft: () => false, once }, 'keepAnswer', []);
    },
  };
}

function webhookStore({ db, snapshot, submit }: Parts): WebhookStore {
  return {
    ...webhookReads(db, snapshot),
    createWebhook: (webhook, most, caller) => submit(caller, 'createWebhook', [webhook, most]),
    changeWebhook: (owner, id, change, caller) => submit(caller, 'changeWebhook', [owner, id, change]),
    deleteWebhook: (owner, id, caller) => submit(caller, 'deleteWebhook', [owner, id]),
    rotateSecret: (owner, id, rotation, caller) => submit(caller, 'rotateSecret', [owner, id, rotation]),
  };
}

function deliveryStore({ db, snapshot, visible, submit }: Parts): DeliveryStore {
  return {
    ...deliveryReads(db, snapshot, visible),
    createTest: (test, caller) => submit(caller, 'createTest', [test]),
    redeliver: (request, caller) => submit(caller, 'redeliver', [request]),
    startReplay: (request, most, caller) => submit(caller, 'startReplay', [request, most]),
  };
}

function submitTo(commits: Pick<ReturnType<typeof groupCommit<Command>>, 'submit'>) {
  return <K extends WriteName>(
    caller: Caller | undefined,
    name: K,
    args: Parameters<Writes[K]>,
    bytes = COMMAND_BYTES,
  ) => {
    // The writer runs the function of this name with these arguments, so the outcome is what it returns.
    type Outcome = Promise<ReturnType<Writes[K]>>;
    const { user, once } = caller ?? {};
    const size = once ? bytes + bytesWith(once.answer.body) : bytes;
    return commits.submit([name, user, once, ...args], size, caller).then(refuseUndone) as Outcome;
  };
}

type Listener = (announced: Announced) => void;

type CommitContext = { writer: Writer; snapshot: Snapshot; listeners: readonly Listener[]; watch: Watch };

async function commit(commands: Command[], { writer, snapshot, listeners, watch }: CommitContext) {
  // An inline writer uses the connection of the snapshot.
  snapshot.end();
  // After a commit whose outcome is unknown nothing is written until a restart has settled it.
  watch.refuseWrites();
  try {
    const { outcomes, announced } = await writer.execute(commands);
    watch.batchEnded(undefined);
    for (const listener of listeners) listener(announced);
    return outcomes;
  } catch (error) {
    watch.batchEnded(error);
    throw error;
  } finally {
    // A caller that gets its answer now must see its own write.
    snapshot.end();
  }
}
