import { readMigrations } from '../../migrations.ts';
import { type Database, type Row, statement } from './database.ts';

export type DatabaseSummary = {
  version: string;
  /** The most connections that the server, and this role, may have; -1 for no limit. */
  mostConnections: number;
  mostOfRole: number;
  /** The connections of all clients to all databases. */
  connections: number;
  /** Milliseconds since the Unix epoch. */
  now: number;
  /** Undefined without a store in the database. */
  schema: { applied: number; known: number; isTooNew: boolean } | undefined;
  /** `isHealthy`: the last attempt succeeded. */
  receivers: { webhook: string; url: string; isHealthy: boolean }[];
};

const SERVER = statement`SELECT current_setting('server_version') AS version,
    current_setting('max_connections')::int AS most_connections,
    (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS most_of_role,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
    extract(epoch FROM clock_timestamp()) * 1000 AS now,
    to_regclass('migrations') IS NOT NULL AS is_made`;

const SCHEMA = statement`SELECT max(version) AS applied, max(compatible_from) AS oldest_program FROM migrations`;

const RECEIVERS = statement`SELECT id, url, last_success_at > coalesce(last_failure_at, 0) AS is_healthy
  FROM webhooks
  WHERE status = 'enabled'
  ORDER BY id`;

export async function inspectDatabase({ read }: Pick<Database, 'read'>): Promise<DatabaseSummary> {
  const [server = {}] = await read(SERVER);
  const isMade = server.is_made === true;
  return {
    version: String(server.version),
    mostConnections: Number(server.most_connections),
    mostOfRole: Number(server.most_of_role),
    connections: Number(server.connections),
    now: Number(server.now),
    schema: isMade ? schemaOf((await read(SCHEMA))[0] ?? {}) : undefined,
    receivers: isMade ? (await read(RECEIVERS)).map(toReceiver) : [],
  };
}

function schemaOf(row: Row) {
  const known = readMigrations('postgres').length;
  return { applied: Number(row.applied), known, isTooNew: Number(row.oldest_program) > known };
}

function toReceiver({ id, url, is_healthy: healthy }: Row) {
  return { webhook: String(id), url: String(url), isHealthy: healthy === true };
}
