import type { Measures } from '../../observability/port.ts';
import type { CreateOutcome, PlantStore } from '../../plants/port.ts';
import type { Clock } from '../../runtime.ts';
import { bytesWith, COMMAND_BYTES } from '../batch.ts';
import { listEnds } from '../list-end.ts';
import { CURSOR_KEYS, toCursorKeys } from '../rows.ts';
import type { CursorKeys, Store, WriteRules } from '../store.ts';
import { shareStore } from './access/shares.ts';
import { tokenStore } from './access/tokens.ts';
import { userStore } from './access/users.ts';
import { type VisibleOwners, visibleOwners } from './access/visible-owners.ts';
import { choreStore } from './deliveries/chores.ts';
import { deliveryStore } from './deliveries/deliveries.ts';
import { eventReads } from './deliveries/events.ts';
import { createLanesOfMain } from './deliveries/lane-client.ts';
import { webhookStore } from './deliveries/webhooks.ts';
import { type Database, openDatabase, statement } from './engine/database.ts';
import { migrate, SCHEMA_WAITS } from './engine/migrate.ts';
import type { DatabaseOptions } from './engine/primary.ts';
import { storeReads } from './engine/readings.ts';
import { batched, createQueues, createWriter, type Queues } from './engine/writer.ts';
import { creates } from './plants/creates.ts';
import { keyStore } from './plants/kept-answers.ts';
import { pageReads } from './plants/page-reads.ts';
import { deletes } from './plants/plant-deletes.ts';
import { endReads, namesCheck, plantPages } from './plants/plants.ts';
import { type Heartbeat, startHeartbeat } from './replicas/heartbeat.ts';
import { createNews } from './replicas/news.ts';

/** One connection more than `connections` listens for hints. */
export type PostgresOptions = WriteRules &
  DatabaseOptions & {
    /** The connections of the sender thread, in addition; default 1. */
    sendingConnections?: number;
    clock: Clock;
    measures?: Measures | undefined;
    /** Called with the name of each migration applied. */
    onMigration?: (name: string) => void;
    /** Called now and then while a migration waits for another transaction. */
    onWait?: () => void;
  };

export type PostgresStore = Store & {
  /** The clock that due times refer to: the database's, the same for all replicas. */
  clock: Clock;
};

/** Opens the store in a PostgreSQL database, creates it if it does not exist, and migrates its schema. */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const { log, clock } = options;
  const tell =
    options.onMigration ?? ((migration) => log.info({ migration }, 'the schema of the store was migrated'));
  const database = openDatabase(options);
  try {
    const onWait = options.onWait ?? (() => log.warn({}, SCHEMA_WAITS));
    for (const migration of await migrate(database, { now: clock.now(), onWait })) tell(migration);
    const [keys = {}] = await database.read(statement`${CURSOR_KEYS}`);
    const cursorKeys = toCursorKeys(keys);
    return storeOn({ database, cursorKeys, heartbeat: await startHeartbeat(database, log) }, options);
  } catch (error) {
    await database.close();
    throw error;
  }
}

type Opened = { database: Database; cursorKeys: CursorKeys; heartbeat: Heartbeat };

function storeOn({ database, cursorKeys, heartbeat }: Opened, options: PostgresOptions): PostgresStore {
  const { log, pooled, measures } = options;
  const visible = visibleOwners(database, heartbeat.epoch);
  const { unsettled, ...events } = eventReads(database);
  const news = createNews({ database, log, listens: !pooled, heartbeat, unsettled });
  const queues = createQueues(createWriter(database, news.publish), measures);
  const { url, sendingConnections = 1 } = options;
  const lanes = createLanesOfMain({ url: url.text, connections: sendingConnections, pooled, news });
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    await queues.close();
    lanes.close();
    heartbeat.stop();
    await news.close();
    await database.close();
  }

  return {
    plants: plantStore({ database, queues, visible }, options),
    access: {
      ...userStore(database, queues.run),
      ...shareStore(database, queues.run),
      ...tokenStore(database, queues.run),
      visibleOwners: visible.of,
      accessEpoch: heartbeat.epoch,
    },
    keys: keyStore(database, queues),
    webhooks: webhookStore(database, queues.run),
    deliveries: deliveryStore(database, queues.run, visible),
    lanes,
    clock: heartbeat.clock,
    events: { ...events, onEvents: news.onEvents },
    chores: choreStore(database, queues),
    readings: {
      kind: 'postgres',
      queues: () => [queues.reading()],
      ...storeReads(database),
    },
    cursorKeys,
    isFull: queues.isFull,
    refresh() {},
    check: heartbeat.check,
    close: () => (closing ??= close()),
  };
}

type Parts = { database: Database; queues: Queues; visible: VisibleOwners };

function plantStore({ database, queues, visible }: Parts, options: PostgresOptions): PlantStore {
  const creating = creates(options);
  const ends = endReads(database, visible);

  return {
    async create(plant, caller) {
      const bytes = bytesWith(plant.name, plant.tag);
      // The outcomes of `creates` have this type, except those that `submit` refuses.
      return (await queues.submit(batched(creating, { plant, caller }), bytes, caller)) as CreateOutcome;
    },
    // The outcomes of `deletes` say whether the plant existed.
    delete: async (owner, id, caller) =>
      (await queues.submit(batched(deletes, { owner, id, caller }), COMMAND_BYTES, caller)) as boolean,
    // The other connections are for writes and single reads.
    page: plantPages(pageReads(database, Math.ceil(options.connections / 2)), ends),
    hasNames: namesCheck(database, visible),
    ...listEnds(ends),
  };
}
