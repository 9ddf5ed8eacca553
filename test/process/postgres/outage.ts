import assert from 'node:assert/strict';
import { after, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { checkListed, type Sent } from '../../../testkit/processes/creates.ts';
import { makePlace } from '../../../testkit/processes/place.ts';
import type { Server } from '../../../testkit/processes/server.ts';
import type { Answer } from '../../../testkit/service/answer.ts';
import { administer, openStoreIn } from '../../../testkit/stores/postgres.ts';
import {
  type DatabaseServer,
  type Ending,
  startDatabaseServer,
} from '../../../testkit/stores/postgres-server.ts';

/** A service on its own database server, with clients that keep creating plants whatever happens. */
export type Outage = {
  database: DatabaseServer;
  /** Runs a statement in the service's database as the superuser. */
  run(sql: string): ReturnType<typeof administer>;
  server: Server;
  /** Resolves once a create sent from now on has this outcome. */
  untilNext(outcome: Sent['outcome']): Promise<void>;
  /**
   * Ends the clients once creates succeed again, then the service. Checks that nothing was lost or duplicated, and that
   * the log has no password. Returns the log.
   */
  over(): Promise<LogLine[]>;
};

/** Levels are pino's: 40 is a warning, 50 an error. */
export type LogLine = { level: number; msg: string; err?: { message: string; code?: unknown } };

/** The service's role, owner of its database. */
export const ROLE = 'ann';
const CONNECTIONS = 5;
const PASSWORD = 'canary-of-a-password';
const CLIENTS = 8;
/** Pause between two creates of a client. */
const BREATH_MS = 10;
/** The same after one that was not created, as most are not while the database is away. */
const REFUSED_MS = 50;
const PATIENCE_MS = 30_000;

type OutageOptions = {
  /** The database's folder, if not with the server's other data; must belong to the server's user. */
  folder?: string;
};

export async function startOutage(t: TestContext, { folder }: OutageOptions = {}): Promise<Outage> {
  const database = folder === undefined ? await copyServer(t) : await makeServer(t, folder);
  const place = await makePlace(t);
  const server = await place.serve({
    env: { DATABASE_URL: urlOf(database), DATABASE_CONNECTIONS: String(CONNECTIONS) },
  });
  const sent: Sent[] = [];
  const enough = new AbortController();
  const clients = Array.from({ length: CLIENTS }, () => keepCreating(server, sent, enough.signal));
  t.after(() => enough.abort());

  async function untilNext(outcome: Sent['outcome']): Promise<void> {
    const first = sent.length;
    await until(
      () => sent.slice(first).some((create) => create.outcome === outcome),
      () => `no create had the outcome ${outcome}: ${tally(sent.slice(first))}`,
    );
  }

  await untilNext(201);
  return {
    database,
    run: (sql) => administer(database.url.replace(/\w+$/, 'plants'), sql),
    server,
    untilNext,
    async over() {
      await untilNext(201);
      enough.abort();
      await Promise.all(clients);
      await checkListed(server, sent);
      return logOf(server);
    },
  };
}

const urlOf = ({ port }: DatabaseServer) => `postgres://${ROLE}:${PASSWORD}@127.0.0.1:${port}/plants`;

/** A server with the service's role and its empty database. */
async function makeServer(t: Ending, folder?: string): Promise<DatabaseServer> {
  const database = await startDatabaseServer(t);
  await database.run(`CREATE ROLE ${ROLE} LOGIN PASSWORD '${PASSWORD}'`);
  if (folder !== undefined) await database.run(`CREATE TABLESPACE elsewhere LOCATION '${folder}'`);
  const tablespace = folder === undefined ? 'pg_default' : 'elsewhere';
  await database.run(`CREATE DATABASE plants OWNER ${ROLE} TABLESPACE ${tablespace}`);
  return database;
}

const ends: (() => Promise<void>)[] = [];
after(async () => {
  for (const end of ends) await end();
});
/** Stopped, with a store. */
let original: Promise<DatabaseServer> | undefined;

/** A server with a store: a copy, which takes less CPU than migrations. */
async function copyServer(t: Ending): Promise<DatabaseServer> {
  original ??= makeOriginal();
  const copy = await (await original).copy(t);
  await copy.start();
  return copy;
}

async function makeOriginal(): Promise<DatabaseServer> {
  const database = await makeServer({ after: (end) => void ends.push(end) });
  await (await openStoreIn(urlOf(database))).close();
  await database.stop();
  return database;
}

/** Waits until the condition holds. */
async function until(
  holds: () => boolean | Promise<boolean>,
  problem: () => string = () => 'it never came',
): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > end) assert.fail(problem());
    await pause(BREATH_MS);
  }
}

export async function untilStatus(server: Server, path: string, status: number): Promise<void> {
  await until(async () => (await server.request('GET', path)).status === status);
}

/** Checks that plants and events correspond one to one; the clients delete nothing. */
export async function checkEvents({ run }: Pick<Outage, 'run'>): Promise<void> {
  const { rows } = await run(
    `SELECT (SELECT count(*) FROM plants) AS plants,
       (SELECT count(*) FROM events) AS events,
       (SELECT count(*) FROM plants p JOIN events e ON e.owner = p.owner AND e.plant = p.id) AS pairs`,
  );
  const [{ plants, events, pairs }] = rows;
  assert.deepEqual([events, pairs], [plants, plants]);
}

/** The allowed number, plus one that listens. */
export async function checkConnections({ run }: Pick<Outage, 'run'>): Promise<void> {
  let open = 0;
  // One that the server has ended may be listed for a moment.
  await until(
    async () => {
      const { rows } = await run(
        `SELECT count(*)::int AS open FROM pg_stat_activity WHERE usename = '${ROLE}'`,
      );
      open = rows[0].open;
      return open <= CONNECTIONS + 1;
    },
    () => `${open} connections are open`,
  );
}

async function keepCreating(server: Server, sent: Sent[], enough: AbortSignal): Promise<void> {
  while (!enough.aborted) {
    const number = sent.length + 1;
    // Chosen ids are negative, to avoid those that the service assigns.
    const id = number % 2 === 0 ? -number : undefined;
    const create: Sent = { name: `Plant ${number}`, id, outcome: 'lost' };
    sent.push(create);
    const answer = await server
      .request('POST', '/plants', { body: { id, name: create.name } })
      .catch(() => undefined);
    if (answer) note(create, answer);
    await pause(create.outcome === 201 ? BREATH_MS : REFUSED_MS);
  }
}

function note(create: Sent, { status, headers, text }: Answer): void {
  create.outcome = status === 201 ? 201 : Number(JSON.parse(text).error);
  if (status === 201) create.id = Number(headers.get('location')?.split('/').at(-1));
  else assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
}

function tally(sent: readonly Sent[]): string {
  const groups = Map.groupBy(sent, ({ outcome }) => outcome);
  return [...groups].map(([outcome, creates]) => `${creates.length} × ${outcome}`).join(', ');
}

async function logOf(server: Server): Promise<LogLine[]> {
  const { code, stdout, stderr } = await server.stop();
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /error|warning|\bat .*\.[jt]s/i);
  assert.ok(!(stdout + stderr).includes(PASSWORD), 'the password is in the log');
  // A line of the log is pino's object.
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as LogLine]));
}
