import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { AppError } from '../../../src/errors.ts';
import type { Store } from '../../../src/store/store.ts';
import { startWatch } from '../../../testkit/service/running-time.ts';
import { AT, type Given, given } from '../../../testkit/stores/given.ts';
import {
  administer,
  makeStoreDatabase,
  openStoreIn,
  type TestDatabase,
} from '../../../testkit/stores/postgres.ts';

/** What a write costs while the database holds it up: at most 5 s, with a correct answer. */

type Answered = { name: string; code: number; ms: number };

const WITHIN_MS = 5_000;
const LOOKED_AT_MS = 5_000;
/** How long a transaction goes on after the next one has begun: longer than the first pause between two checks. */
const OVERLAP_MS = 50;

/** A store in a database of its own, since each test locks what the others use, and a session besides the store's. */
async function heldUp(t: TestContext) {
  const database = await makeStoreDatabase();
  const store = await openStoreIn(database.url);
  const session = new pg.Client({ connectionString: database.url });
  await session.connect();
  t.after(async () => {
    await session.end();
    await store.close();
    await database.drop();
  });
  return { database, session, ...given(store), store };
}

// They wait for the database, not for the processor.
describe('a write that the database holds up', { concurrency: true }, () => {
  const watch = startWatch();
  after(() => watch[Symbol.dispose]());

  async function timed(name: string, write: (name: string) => Promise<unknown>): Promise<Answered> {
    const asked = watch.ms();
    const code = await write(name).then(
      () => 201,
      (error: unknown) => (error instanceof AppError ? error.code : 0),
    );
    return { name, code, ms: watch.ms() - asked };
  }

  /** Sends writes at intervals, so that they meet a wait at each of its stages. */
  async function timedEach(count: number, write: (name: string) => Promise<unknown>): Promise<Answered[]> {
    const answers: Promise<Answered>[] = [];
    for (let n = 0; n < count; n++) {
      answers.push(timed(`held ${count} ${n}`, write));
      await pause(150);
    }
    return Promise.all(answers);
  }

  function createToken({ store, ids }: { store: Store; ids: Given['ids'] }, user: string, label: string) {
    const id = ids.next('tok');
    const rest = { scopes: [], createdAt: AT, expiresAt: undefined };
    return store.access.createToken({ id, hash: id, user, label, ...rest });
  }

  function checkTimes(answers: readonly Answered[]): void {
    const slowest = Math.max(...answers.map(({ ms }) => ms));
    assert.ok(slowest <= WITHIN_MS, `one was answered after ${Math.round(slowest)} ms`);
  }

  async function namesOf(
    { url }: TestDatabase,
    table: 'plants' | 'tokens',
    column: 'name' | 'label',
  ): Promise<string[]> {
    const { rows } = await administer(url, `SELECT ${column} AS name FROM ${table}`);
    return rows.map(({ name }) => name);
  }

  /** Checks that writes answered 201 exist, and those answered 50302 do not. */
  async function checkTruth(answers: readonly Answered[], there: readonly string[]): Promise<void> {
    for (const { name, code } of answers) {
      assert.ok(code === 201 || code === 50302, `${name} was answered ${code}`);
      assert.equal(there.includes(name), code === 201, `${name} was answered ${code}`);
    }
  }

  test('by a lock on the table is answered within 5 s, and not carried out', async (t) => {
    const { database, session, user, create } = await heldUp(t);
    const { id: owner } = await user();
    await session.query('BEGIN; LOCK TABLE plants');
    const answers = await timedEach(40, (name) => create(owner, undefined, { name }));
    await session.query('ROLLBACK');
    checkTimes(answers);
    assert.ok(answers.some(({ code }) => code === 50302));
    await create(owner);
    await checkTruth(answers, await namesOf(database, 'plants', 'name'));
  });

  test('by writes before it that wait for another table is answered within 5 s', async (t) => {
    const { database, store, session, user, create, ids } = await heldUp(t);
    const { id: owner, name } = await user();
    await session.query('BEGIN; LOCK TABLE tokens');
    const tokens = timedEach(20, (label) => createToken({ store, ids }, name, label));
    const creates = await timedEach(21, (plant) => create(owner, undefined, { name: plant }));
    const refused = await tokens;
    await session.query('ROLLBACK');
    checkTimes([...creates, ...refused]);
    assert.ok(refused.every(({ code }) => code === 50302));
    await create(owner);
    await checkTruth(creates, await namesOf(database, 'plants', 'name'));
    await checkTruth(refused, await namesOf(database, 'tokens', 'label'));
  });

  test('by reads that use all connections is answered within 5 s, and not carried out', async (t) => {
    const { database, session, user } = await heldUp(t);
    const narrow = await openStoreIn(database.url, { connections: 1 });
    try {
      const { id: owner } = await user();
      await session.query('BEGIN; LOCK TABLE webhooks');
      const reads = Array.from({ length: 4 }, () => narrow.webhooks.webhooks(owner).catch(() => {}));
      const answers = await timedEach(20, (name) => given(narrow).create(owner, undefined, { name }));
      await Promise.all(reads);
      await session.query('ROLLBACK');
      checkTimes(answers);
      await given(narrow).create(owner);
      await checkTruth(answers, await namesOf(database, 'plants', 'name'));
    } finally {
      await narrow.close();
    }
  });

  test('after its statement was sent is answered within 5 s that its outcome is unknown', async (t) => {
    const { database, user, create } = await heldUp(t);
    const { id: owner } = await user();
    await administer(
      database.url,
      `CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(6); RETURN NEW; END';
       CREATE TRIGGER dawdle BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION dawdle()`,
    );
    const sent = timed('sent', (name) => create(owner, undefined, { name }));
    const query = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;
    while ((await administer(database.url, query)).rowCount === 0) await pause(20);
    // Waits behind the first, and is never sent.
    const unsent = timed('unsent', (name) => create(owner, undefined, { name }));
    const answers = await Promise.all([sent, unsent]);
    checkTimes(answers);
    assert.deepEqual(
      answers.map(({ code }) => code),
      [50301, 50302],
    );
    // Waits until the first is visible.
    while (!(await namesOf(database, 'plants', 'name')).includes('sent')) await pause(50);
    await administer(database.url, 'DROP TRIGGER dawdle ON plants; DROP FUNCTION dawdle');
    await create(owner, undefined, { name: 'behind both' });
    assert.ok(!(await namesOf(database, 'plants', 'name')).includes('unsent'));
  });
});

describe('news of events held up by another transaction', () => {
  let database: TestDatabase;
  const replicas: Store[] = [];
  let session: pg.Client;

  before(async () => {
    database = await makeStoreDatabase();
    for (let n = 0; n < 2; n++) replicas.push(await openStoreIn(database.url));
    session = new pg.Client({ connectionString: database.url });
    await session.connect();
  });
  after(async () => {
    await session.end();
    await Promise.all(replicas.map((store) => store.close()));
    await database.drop();
  });

  /** The server's count, up to a second behind. */
  async function transactions(): Promise<number> {
    const { rows } = await administer(
      database.url,
      'SELECT xact_commit::int AS count FROM pg_stat_database WHERE datname = current_database()',
    );
    return rows[0].count;
  }

  test('arrive while transactions that overlap always keep later events out of the feed', async (t) => {
    const [one] = replicas;
    assert.ok(one);
    const { user, create } = given(one);
    const [{ id: early }, { id: owner }] = [await user(), await user()];
    const second = new pg.Client({ connectionString: database.url });
    await second.connect();
    t.after(() => second.end());
    const told = Promise.withResolvers<void>();
    let isTold = false;
    one.events.onEvents((owners) => {
      if (!owners.includes(early)) return;
      isTold = true;
      told.resolve();
    });
    const begin = 'BEGIN; SELECT pg_current_xact_id()';
    await session.query(begin);
    await Promise.all([create(early), create(owner)]);
    using watch = startWatch();
    for (let [open, next] = [session, second]; !isTold; [open, next] = [next, open]) {
      assert.ok(watch.ms() < 4_000, 'told by nobody');
      await next.query(begin);
      await create(owner);
      await open.query('COMMIT');
      await Promise.race([told.promise, pause(OVERLAP_MS)]);
    }
    await Promise.all([session, second].map((each) => each.query('COMMIT')));
  });

  test('are polled less and less often, and arrive soon after it ends', async () => {
    const [one] = replicas;
    assert.ok(one);
    const { user, create } = given(one);
    const { id: owner } = await user();
    await session.query('BEGIN; SELECT pg_current_xact_id()');
    let told = 0;
    const all = Promise.withResolvers<void>();
    for (const { events } of replicas) {
      events.onEvents((owners) => {
        if (owners.includes(owner) && ++told === replicas.length) all.resolve();
      });
    }
    await create(owner);
    const counted = await transactions();
    await pause(LOOKED_AT_MS);
    const asked = (await transactions()) - counted;
    assert.ok(asked < 100, `${asked} transactions in ${LOOKED_AT_MS} ms`);
    assert.equal(told, 0);
    await session.query('COMMIT');
    using watch = startWatch();
    await all.promise;
    const tookMs = watch.ms();
    assert.ok(tookMs < 2_000, `told after ${Math.round(tookMs)} ms`);
  });
});
