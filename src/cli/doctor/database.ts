import type { StoreConfig } from '../../config/config.ts';
import type { DatabaseUrl } from '../../config/database-url.ts';
import { database as databaseLimits } from '../../limits.ts';
import { silentLog } from '../../runtime.ts';
import type { DatabaseSummary } from '../../store/postgres/engine/inspect.ts';
import { databaseFailure } from '../service/database-failure.ts';
import { counted } from '../terminal/terminal.ts';
import { compareClocks, type Finding, ok, problem, reasonIn, warning } from './check.ts';

const NAME = 'Database';
/** The oldest supported PostgreSQL. */
const OLDEST = 15;

/**
 * Returns what later checks need; undefined when the database cannot be read.
 * @param connections that a replica may open; undefined when the setting is invalid
 */
export async function* checkDatabase(
  url: DatabaseUrl,
  { databasePooler }: StoreConfig,
  connections: number | undefined,
): AsyncGenerator<Finding, DatabaseSummary | undefined> {
  const [{ openDatabase }, { inspectDatabase }] = await Promise.all([
    import('../../store/postgres/engine/database.ts'),
    import('../../store/postgres/engine/inspect.ts'),
  ]);
  await using database = openDatabase({
    url,
    pooled: databasePooler === 'transaction',
    connections: databaseLimits.connectionsOfVerb,
    log: silentLog,
  });
  try {
    const askedAt = Date.now();
    const summary = await inspectDatabase(database);
    const tookMs = Date.now() - askedAt;
    yield serverOf(url, summary);
    yield schemaOf(summary);
    yield connectionsOf(summary, connections);
    yield compareClocks('the database', askedAt + tookMs / 2 - summary.now, tookMs / 2);
    return summary;
  } catch (error) {
    yield problem(NAME, reasonIn(databaseFailure(error, url)), 'Until then the service answers 503.');
    return undefined;
  }
}

/** Called once the server that accepts writes was reached. */
function serverOf({ shown }: DatabaseUrl, { version }: DatabaseSummary): Finding {
  if (Number.parseInt(version, 10) >= OLDEST)
    return ok(NAME, `${shown}: PostgreSQL ${version}, accepts writes`);
  return problem(NAME, `PostgreSQL ${version} is too old`, `Use PostgreSQL ${OLDEST} or newer.`);
}

function schemaOf({ schema, isCopying }: DatabaseSummary): Finding {
  if (schema === undefined) {
    const advice = 'The first start creates it, as does plant-store migrate.';
    return warning('Store', 'the database has none', advice);
  }
  if (isCopying) {
    const advice = 'No service starts on it: if the copy was interrupted, run it again: plant-store copy.';
    return problem('Store', 'a copy into it is running, or was interrupted', advice);
  }
  const { applied, known, isTooNew, lacking } = schema;
  if (isTooNew) {
    const text = `schema ${applied}: created by a newer version of plant-store (this one knows ${known})`;
    return problem('Store', text, 'Run that version instead.');
  }
  if (applied >= known) {
    if (lacking === '') return ok('Store', `schema ${applied}`);
    const text = `the role of the service lacks rights: ${lacking}`;
    return problem('Store', text, 'Until they are granted the service is not ready.');
  }
  const advice = 'The next start migrates it; make a dump first, with pg_dump.';
  return warning('Store', `schema ${applied} of ${known}: from an older version of plant-store`, advice);
}

/** Each replica needs one more connection to listen for notifications. */
const LISTENING = 1;

function connectionsOf(
  { mostConnections, mostOfRole, connections, connectionsOfRole }: DatabaseSummary,
  wanted: number | undefined,
): Finding {
  const most = mostOfRole === -1 ? mostConnections : Math.min(mostConnections, mostOfRole);
  const open = most === mostOfRole ? connectionsOfRole : connections;
  const text = `${open} of ${most} are open`;
  if (wanted === undefined) return ok('Connections', text);
  const replicas = Math.floor(most / (wanted + LISTENING));
  const more = `${text}; DATABASE_CONNECTIONS=${wanted} allows ${counted(replicas, 'replica')}`;
  if (replicas > 1) return ok('Connections', more);
  const advice =
    "Lower DATABASE_CONNECTIONS, or raise max_connections or the role's limit: a rolling update needs two.";
  return (replicas === 0 ? problem : warning)('Connections', more, advice);
}
