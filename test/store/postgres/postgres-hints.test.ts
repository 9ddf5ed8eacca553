import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { parseDatabaseUrl } from '../../../src/config/database-url.ts';
import { silentLog } from '../../../src/runtime.ts';
import { openDatabase } from '../../../src/store/postgres/engine/database.ts';
import { type Announced, nothingAnnounced } from '../../../src/store/postgres/replicas/hints.ts';
import { createNews } from '../../../src/store/postgres/replicas/news.ts';
import type { PostgresOptions } from '../../../src/store/postgres/store.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Work } from '../../../src/webhooks/delivery/port.ts';
import { type Given, given } from '../../../testkit/stores/given.ts';
import { lanesOf } from '../../../testkit/stores/lanes.ts';
import { makeStoreDatabase, openStoreIn, type TestDatabase } from '../../../testkit/stores/postgres.ts';

const PATIENCE_MS = 20_000;
/** How long a store may take to close. */
const CLOSE_MS = 5_000;
/** Identifies the connections on which replicas listen. */
const LISTENER = 'plant-store hints';
const NO_WEBHOOK = 'wh_01m7z02m7x637zxgvk0qdznc5j';

describe('hints', () => {
  let database: TestDatabase;
  /** It sends hints, and does not listen. */
  let teller: Given;
  let session: pg.Client;
  const opened: Pick<Store, 'close'>[] = [];

  before(async () => {
    database = await makeStoreDatabase();
    teller = given(await open({ pooled: true }));
    session = new pg.Client({ connectionString: database.url });
    await session.connect();
  });
  after(async () => {
    await session.end();
    for (const one of opened) await one.close();
    await database.drop();
  });

  async function open(more: Partial<PostgresOptions> = {}): Promise<Store> {
    const store = await openStoreIn(database.url, more);
    opened.push(store);
    return store;
  }

  /** Opens a store; resolves once it listens. */
  async function openListening(more: Partial<PostgresOptions> = {}): Promise<Store> {
    const before = await listeners();
    const store = await open(more);
    await listening(before, 1);
    return store;
  }

  /** The sessions that listen; now and then they check the server. */
  async function listeners(): Promise<number[]> {
    const { rows } = await session.query(
      `SELECT pid
       FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = '${LISTENER}'
         AND query IN ('LISTEN plant_store', 'SELECT 1') AND state = 'idle'`,
    );
    return rows.map(({ pid }) => pid);
  }

  /** Waits until this many new sessions listen. */
  async function listening(before: readonly number[], count: number): Promise<void> {
    for (const late = performance.now() + PATIENCE_MS; performance.now() < late; await pause(10)) {
      const others = (await listeners()).filter((pid) => !before.includes(pid));
      if (others.length >= count) return;
    }
    throw new Error('it takes too long');
  }

  test('a replica without an API does not ask whether events are in the feed', async (t) => {
    const url = parseDatabaseUrl(database.url);
    const way = openDatabase({ url, connections: 1, pooled: false, log: silentLog });
    t.after(way.close);
    let asked = 0;
    const unsettled = async () => void asked++;
    const heartbeat = { beat: async () => {} };
    const news = createNews({ database: way, log: silentLog, listens: false, heartbeat, unsettled });
    const announced = { ...nothingAnnounced(), owners: [1] };
    await news.publish(announced);
    assert.equal(asked, 0);
    news.onEvents(() => {});
    await news.publish(announced);
    assert.equal(asked, 1);
    await news.close();
  });

  test('notifications that are not hints change nothing', async () => {
    const store = await openListening();
    const lanes = await lanesOf(store);
    opened.unshift(lanes);
    const { due } = given(store, { lanes: lanes.store });
    const { owner, hook } = await teller.subscriber(0);
    let made = 0;
    async function createAndHear(): Promise<void> {
      const heard = soon<void>((done) =>
        lanes.store.listen(({ work }) => work.some(({ webhook }) => webhook === hook) && done()),
      );
      await teller.create(owner);
      await heard;
      assert.equal((await due(hook)).length, ++made);
    }
    await createAndHear();
    const changed: string[] = [];
    const last = soon<void>((done) =>
      lanes.store.listen((news) => {
        changed.push(...news.changed);
        if (news.changed.includes(NO_WEBHOOK)) done();
      }),
    );
    for (const payload of forgeriesOf({ webhook: hook, due: 0 })) {
      await session.query('SELECT pg_notify($1, $2)', ['plant_store', payload]);
    }
    // Finally a valid hint.
    await session.query('SELECT pg_notify($1, $2)', ['plant_store', hintOf({ changed: [NO_WEBHOOK] })]);
    await last;
    assert.deepEqual(changed, [NO_WEBHOOK]);

    const told = toldOf(store, owner);
    await createAndHear();
    await told;
  });

  test('hints arrive again after the server ended their connection', async () => {
    const store = await openListening();
    const before = await listeners();
    const { rowCount } = await session.query(
      `SELECT pg_terminate_backend(pid)
       FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = '${LISTENER}'`,
    );
    assert.ok(rowCount !== null && rowCount > 0);
    await listening(before, before.length);
    const { id: owner } = await teller.user();
    const told = toldOf(store, owner);
    await teller.create(owner);
    await told;
  });

  test('a store closes while its connection for hints is being opened', async () => {
    const store = await open();
    await soon<void>((done) => void store.close().then(done), CLOSE_MS);
  });

  test('a store closes soon although the connection for hints does not answer', async (t) => {
    const proxy = await startHushableProxy(database.url);
    t.after(proxy.stop);
    const store = await openListening({ url: parseDatabaseUrl(proxy.url) });
    assert.equal(proxy.hush(), 1);
    await soon<void>((done) => void store.close().then(done), CLOSE_MS);
  });
});

/** Notifications that would break statements that contained them, and invalid ones. */
function forgeriesOf(lane: Work): string[] {
  return [
    '',
    'plants',
    'null',
    '[]',
    '"plant_store"',
    '["a"]',
    '["a", null]',
    '["a", {"lanes": {}, "owners": 1, "changed": "all", "access": 1}]',
    '[1, {"lanes": [], "owners": [], "changed": [], "access": true}]',
    '['.repeat(7_900),
    hintOf({ owners: [1.5, -0.1, '1', null, {}, [1], true, 'x'.repeat(7_000)] }),
    hintOf({ owners: [] }).replace('"owners":[]', '"owners":[1e400,-1e400,9223372036854775808]'),
    hintOf({ changed: [1, null, '', 'wh_\u0000', "wh_'; DROP TABLE plants", 'wh_ä', {}] }),
    hintOf({ lanes: [null, 1, 'x', [], {}, { due: 0 }] }),
    hintOf({ lanes: ['', 'wh_\u0000', 'wh_"\\', '\ud800', 'a b', 1, null].map(laneOf) }),
    hintOf({ lanes: [0.5, 'soon', null, {}, 2 ** 64].map((due) => ({ ...lane, due })) }),
    hintOf({ lanes: [1, 'yes', null, {}].map((isAsked) => ({ ...lane, isAsked })) }),
    // A valid hint about nonexistent things.
    hintOf({ lanes: [laneOf(NO_WEBHOOK), laneOf('x'.repeat(7_000))] }),
    hintOf({ owners: [0, -1, Number.MAX_SAFE_INTEGER] }),
  ];
}

function laneOf(webhook: unknown) {
  return { webhook, due: 0 };
}

/** A hint like a replica's. */
function hintOf(more: Partial<Record<keyof Announced, unknown>>): string {
  return JSON.stringify(['a', { lanes: [], owners: [], changed: [], access: false, ...more }]);
}

function toldOf(store: Store, owner: number): Promise<unknown> {
  return soon((done) => store.events.onEvents((owners) => owners.includes(owner) && done(owner)));
}

/** Resolves with the value of a callback, which must come soon. */
function soon<T>(listen: (done: (value: T) => void) => void, patienceMs = PATIENCE_MS): Promise<T> {
  const late = new AbortController();
  return Promise.race([
    new Promise<T>(listen),
    pause(patienceMs, undefined, { signal: late.signal }).then(() => {
      throw new Error('it takes too long');
    }),
  ]).finally(() => late.abort());
}

/** A proxy in front of a URL's server. */
type HushableProxy = {
  url: string;
  /** Stops passing on data of listening connections; returns their number. */
  hush(): number;
  stop(): Promise<void>;
};

async function startHushableProxy(databaseUrl: string): Promise<HushableProxy> {
  const url = new URL(databaseUrl);
  const server = { host: url.hostname, port: Number(url.port || 5432) };
  const listening: Socket[] = [];
  const all: Socket[] = [];
  const proxy = createServer((client) => {
    const upstream = connect(server);
    all.push(client, upstream);
    client.on('error', () => upstream.destroy()).pipe(upstream);
    upstream.on('error', () => client.destroy()).pipe(client);
    // A client first sends its name and parameters.
    client.once('data', (start) => start.includes(LISTENER) && listening.push(client, upstream));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  assert.ok(address !== null && typeof address === 'object');
  url.host = `127.0.0.1:${address.port}`;
  return {
    url: url.href,
    hush() {
      for (const socket of listening) socket.unpipe().pause();
      return listening.length / 2;
    },
    async stop() {
      for (const socket of all) socket.destroy();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}
