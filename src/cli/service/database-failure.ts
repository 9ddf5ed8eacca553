import { addressOf, type DatabaseUrl } from '../../config/database-url.ts';
import { AppError } from '../../errors.ts';
import { Failure } from '../failure.ts';

/**
 * What Node, the client and the server add to an error: a code of a system call or of TLS, or an SQLSTATE
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */
type DatabaseError = Error & { code?: unknown; severity?: unknown; syscall?: unknown };

/**
 * Explains a failure of the database server or the connection in one line, with advice and without the password.
 * Returns any other error unchanged.
 */
export function databaseFailure(error: unknown, url: DatabaseUrl): unknown {
  const errors = errorsOf(error);
  if (errors.length === 0) return error;
  const findings = errors.map((each) => explain(each, url));
  const reasons = findings.map(({ reason }, i) => {
    // Each host was tried, in the order of the URL.
    const host = errors.length > 1 ? url.hosts[i] : undefined;
    return host ? `${addressOf(host)}: ${reason}` : reason;
  });
  const advice = new Set(findings.map((finding) => finding.advice));
  const message = `The database ${url.shown} cannot be used: ${reasons.join('; ')}. ${[...advice].join(' ')}`;
  return new Failure(message, { cause: error });
}

export async function onDatabase<T>(url: DatabaseUrl | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw url ? databaseFailure(error, url) : error;
  }
}

/** One for each host that was tried; empty when the failure is not the database's. */
function errorsOf(error: unknown): DatabaseError[] {
  if (!(error instanceof Error)) return [];
  if (!(error instanceof AppError)) return isOfDatabase(error) ? [error] : [];
  const { code, cause } = error;
  if (code !== 50302 || !(cause instanceof Error)) return [];
  // Node throws an AggregateError of its own for the addresses of one host, with the first one's code.
  const tried: unknown[] = cause instanceof AggregateError && !('code' in cause) ? cause.errors : [cause];
  return tried.filter((each) => each instanceof Error);
}

/** Creating the schema throws the database's errors unwrapped. */
function isOfDatabase(error: DatabaseError): boolean {
  return error.severity !== undefined || error.syscall === 'connect';
}

function explain(error: DatabaseError, url: DatabaseUrl) {
  const said = error.message.replace(/\.$/, '');
  const code = typeof error.code === 'string' ? error.code : '';
  const says = said === '' ? code : said;
  const [advice, reason = '%'] = FINDINGS[code] ?? [generalAdvice(url)];
  return { reason: reason.replace('%', () => says), advice };
}

function generalAdvice({ hosts: [host], urlFor }: DatabaseUrl): string {
  const url = host && new URL(urlFor(host));
  const advice = ['Check that DATABASE_URL points to a running PostgreSQL server.'];
  if (!url?.password) advice.unshift('DATABASE_URL contains no password.');
  if (url?.searchParams.has('sslmode')) advice.push('If it has no TLS, remove sslmode from DATABASE_URL.');
  return advice.join(' ');
}

/** What to do and, where the message of Node or the server is unclear, what is wrong: `%` stands for that message. */
type Known = readonly [advice: string, reason?: string];

const unreachable: Known = [
  'Check the host and port in DATABASE_URL, and the firewall.',
  'it cannot be reached (%)',
];
const untrusted: Known = [
  "Set sslrootcert=… in DATABASE_URL to the authority's certificate, and use the host name in the server's certificate.",
  'its certificate is not trusted (%)',
];
const foreign: Known = [
  'Choose an empty database.',
  'it has tables that this version of plant-store did not create (%)',
];
const starting: Known = ['Try again once the server accepts connections.'];

/** By code of a system call or of TLS, or by SQLSTATE. */
const FINDINGS: Readonly<Record<string, Known>> = {
  ENOTFOUND: ['Correct the host in DATABASE_URL.', 'its host does not resolve'],
  EAI_AGAIN: ['Check that this machine can resolve names.', 'its host cannot be resolved right now'],
  ECONNREFUSED: [
    'Start the server, or correct the host and port in DATABASE_URL.',
    'nothing listens on its port',
  ],
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  ETIMEDOUT: unreachable,
  ECONNRESET: unreachable,
  ENOENT: ['Correct the file name in DATABASE_URL.'],
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_HAS_EXPIRED: ["Renew the server's certificate, and check this machine's clock."],
  ERR_TLS_CERT_ALTNAME_INVALID: untrusted,
  '08P01': [
    'With PgBouncer, set DATABASE_POOLER=transaction, and add the user and password to its auth_file.',
  ],
  '25006': [
    'Set DATABASE_URL to the primary, or list all servers of the cluster, separated by commas.',
    'the server accepts no writes',
  ],
  '28000': [
    'Allow the role to log in from here (LOGIN, pg_hba.conf), or request TLS with sslmode=verify-full.',
  ],
  '28P01': ['Correct the user and password in DATABASE_URL; percent-encode special characters.'],
  '3D000': ["Create it: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0."],
  '42501': [
    'Run plant-store migrate as the owner of the database, or make the role its owner: ALTER DATABASE … OWNER TO …',
  ],
  '42703': foreign,
  '42P07': foreign,
  '53100': ["Free up space on the server's disk."],
  '53200': [
    'Give the server more memory. If it lacks shared memory, raise its max_locks_per_transaction, or create fewer partitions.',
  ],
  '53300': ["Lower DATABASE_CONNECTIONS, or raise the server's max_connections or the role's limit."],
  '57P01': starting,
  '57P02': starting,
  '57P03': starting,
};
