import type { StoreConfig } from '../../config/config.ts';
import type { DatabaseUrl } from '../../config/database-url.ts';
import { database as databaseLimits } from '../../limits.ts';
import { silentLog } from '../../runtime.ts';
import type { DatabaseGlance } from '../../store/postgres/engine/inspect.ts';
import { databaseFailure } from '../service/database-failure.ts';
import { type Finding, ok, problem, reasonIn, warning } from './check.ts';
import { compareClocks } from './machine.ts';

const NAME = 'Database';
/** The oldest PostgreSQL that the store works with. */
const OLDEST = 15;

/** What a look at the database found; the glance is undefined when there was none. */
export type DatabaseLook = { findings: Finding[]; glance: DatabaseGlance | undefined };

/** @param connections that a replica may have open; undefined when that setting is wrong */
export async function lookAtDatabase(
  url: DatabaseUrl,
  { databasePooler }: StoreConfig,
  connections: number | undefined,
): Promise<DatabaseLook> {
  const [{ openDatabase }, { inspectDatabase }] = await Promise.all([
    import('../../store/postgres/engine/database.ts'),
    import('../../store/postgres/engine/inspect.ts'),
  ]);
  const database = openDatabase({
    url,
    pooled: databasePooler === 'transaction',
    connections: databaseLimits.connectionsOfVerb,
    log: silentLog,
  });
  try {
    const askedAt = Date.now();
    const glance = await inspectDatabase(database);
    const tookMs = Date.now() - askedAt;
    const clock = compareClocks('the database', askedAt + tookMs / 2 - glance.now, tookMs / 2);
    return {
      findings: [serverOf(url, glance), schemaOf(glance), ...connectionsOf(glance, connections), clock],
      glance,
    };
  } catch (error) {
    const failure = databaseFailure(error, url);
    return {
      findings: [problem(NAME, reasonIn(failure), 'The service answers 503 until then.')],
      glance: undefined,
    };
  } finally {
    await database.close();
  }
}

/** It was reached, and the one that accepts writes is used. */
function serverOf({ shown }: DatabaseUrl, { version }: DatabaseGlance): Finding {
  if (Number.parseInt(version, 10) >= OLDEST)
    return ok(NAME, `${shown}: PostgreSQL ${version}, accepts writes`);
  return problem(NAME, `PostgreSQL ${version} is too old`, `Use PostgreSQL ${OLDEST} or newer.`);
}

function schemaOf({ schema }: DatabaseGlance): Finding {
  if (schema === undefined) {
    const advice = 'The first start makes one, and so does plant-store migrate.';
    return warning('Store', 'there is none in the database', advice);
  }
  const { applied, known, isTooNew } = schema;
  if (isTooNew) {
    const text = `schema ${applied}: made by a newer version of plant-store (this one knows ${known})`;
    return problem('Store', text, 'Start that version instead.');
  }
  if (applied >= known) return ok('Store', `schema ${applied}`);
  const advice =
    'The next start brings it up to date; before, make a dump (docs/how-to/run-on-postgresql.md).';
  return warning('Store', `schema ${applied} of ${known}: of an older version of plant-store`, advice);
}

/** One more of each replica listens for hints. */
const LISTENING = 1;

function connectionsOf(
  { mostConnections, mostOfRole, connections: open }: DatabaseGlance,
  wanted: number | undefined,
) {
  const most = mostOfRole === -1 ? mostConnections : Math.min(mostConnections, mostOfRole);
  const text = `${open} of ${most} are open`;
  if (wanted === undefined) return [ok('Connections', text)];
  const replicas = Math.floor(most / (wanted + LISTENING));
  const more = `${text}; DATABASE_CONNECTIONS=${wanted} has room for ${replicas} ${replicas === 1 ? 'replica' : 'replicas'}`;
  if (replicas > 1) return [ok('Connections', more)];
  const advice =
    "Lower DATABASE_CONNECTIONS, or raise max_connections or the role's limit: a rolling update needs two.";
  return [(replicas === 0 ? problem : warning)('Connections', more, advice)];
}
