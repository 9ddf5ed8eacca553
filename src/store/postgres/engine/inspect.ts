import { readMigrations } from '../../migrations.ts';
import { RECEIVERS, toReceiver } from '../../rows.ts';
import { LACKING } from '../access/rights.ts';
import { type Database, type Row, statement } from './database.ts';

export type DatabaseSummary = Awaited<ReturnType<typeof inspectDatabase>>;

/** Other columns hide sessions of other roles. Processes of the server have no user, or no database. */
const OPEN = `SELECT count(*) FROM pg_stat_activity WHERE usesysid IS NOT NULL AND datid IS NOT NULL`;

const SERVER = statement`SELECT current_setting('server_version') AS version,
    current_setting('max_connections')::int AS most_connections,
    (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS most_of_role,
    (${OPEN}) AS connections,
    (${OPEN} AND usename = current_user) AS of_role,
    extract(epoch FROM clock_timestamp()) * 1000 AS now,
    to_regclass('migrations') IS NOT NULL AS is_made,
    to_regclass('copy_progress') IS NOT NULL AS is_copying`;

const SCHEMA = statement`SELECT max(version) AS applied, max(compatible_from) AS oldest_program, ${LACKING} AS lacking
  FROM migrations`;

export async function inspectDatabase({ read }: Pick<Database, 'read'>) {
  const [server = {}] = await read(SERVER);
  const isMade = server.is_made === true;
  return {
    version: String(server.version),
    /** The most connections that the server, and this role, may have; -1 for no limit. */
    mostConnections: Number(server.most_connections),
    mostOfRole: Number(server.most_of_role),
    /** The connections of all clients, or of those with this role, to all databases. */
    connections: Number(server.connections),
    connectionsOfRole: Number(server.of_role),
    /** Milliseconds since the Unix epoch. */
    now: Number(server.now),
    /** Whether a copy into the database is not done. */
    isCopying: server.is_copying === true,
    /** Undefined without a store in the database. */
    schema: isMade ? schemaOf((await read(SCHEMA))[0] ?? {}) : undefined,
    /** Of enabled webhooks. */
    receivers: isMade ? (await read(statement`${RECEIVERS}`)).map(toReceiver) : [],
  };
}

function schemaOf(row: Row) {
  const known = readMigrations('postgres').length;
  const isTooNew = Number(row.oldest_program) > known;
  return { applied: Number(row.applied), known, isTooNew, lacking: String(row.lacking ?? '') };
}
