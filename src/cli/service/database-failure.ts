import type { DatabaseUrl, Host } from '../../config/database-url.ts';
import { AppError } from '../../errors.ts';
import { Failure } from '../failure.ts';

/**
 * What Node, the client and the server hang on an error: the code of a failed system call or of TLS, or an SQLSTATE
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */
type DatabaseError = Error & { code?: unknown; severity?: unknown; syscall?: unknown };

/** What is wrong with the database, and what a person can do about it. */
type Finding = { reason: string; advice: string };

/**
 * A failure of the database server, or of the way to it, in one line that says what to do about it: never with the
 * password. Anything else is given back as it is.
 */
export function databaseFailure(error: unknown, url: DatabaseUrl): unknown {
  const errors = errorsOf(error);
  if (errors.length === 0) return error;
  const findings = errors.map((each) => explain(each, url));
  const reasons = findings.map(({ reason }, i) => {
    // Each host was tried, in the order of the URL.
    const host = errors.length > 1 ? url.hosts[i] : undefined;
    return host ? `${placeOf(host)}: ${reason}` : reason;
  });
  const advice = new Set(findings.map((finding) => finding.advice));
  const message = `The database ${url.shown} cannot be used: ${reasons.join('; ')}. ${[...advice].join(' ')}`;
  return new Failure(message, { cause: error });
}

/** Does something on a database; what fails by its fault says so as `databaseFailure` does. */
export async function onDatabase<T>(url: DatabaseUrl | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw url ? databaseFailure(error, url) : error;
  }
}

/** One for each host that was tried; none when the failure is not of the database. */
function errorsOf(error: unknown): DatabaseError[] {
  if (!(error instanceof Error)) return [];
  if (!(error instanceof AppError)) return isOfDatabase(error) ? [error] : [];
  const { code, cause } = error;
  if (code !== 50302 || !(cause instanceof Error)) return [];
  // Node makes one of its own for the addresses of a host, with the code of the first.
  const tried: unknown[] = cause instanceof AggregateError && !('code' in cause) ? cause.errors : [cause];
  return tried.filter((each) => each instanceof Error);
}

/** What the schema was made with may fail as it is. */
function isOfDatabase(error: DatabaseError): boolean {
  return error.severity !== undefined || error.syscall === 'connect';
}

function explain(error: DatabaseError, url: DatabaseUrl): Finding {
  const said = error.message.replace(/\.$/, '');
  const code = typeof error.code === 'string' ? error.code : '';
  const says = said === '' ? code : said;
  const advice = [
    ...(hasPassword(url) ? [] : ['DATABASE_URL holds no password.']),
    'See that DATABASE_URL leads to a PostgreSQL server that answers.',
    ...(asksForTls(url) ? ['When it has no TLS, take sslmode out of DATABASE_URL.'] : []),
  ];
  const [known, reason = '%'] = FINDINGS[code] ?? [advice.join(' ')];
  return { reason: reason.replace('%', () => says), advice: known };
}

function hasPassword({ hosts: [host], urlFor }: DatabaseUrl): boolean {
  return host !== undefined && new URL(urlFor(host)).password !== '';
}

function asksForTls({ hosts: [host], urlFor }: DatabaseUrl): boolean {
  return host !== undefined && new URL(urlFor(host)).searchParams.has('sslmode');
}

function placeOf({ host, port }: Host): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** What to do and, where that of the server or of Node is not clear, what is wrong: `%` stands for what they say. */
type Known = readonly [advice: string, reason?: string];

const unreachable: Known = [
  'See that host and port in DATABASE_URL are right, and that the network lets through.',
  'it cannot be reached (%)',
];
const untrusted: Known = [
  'Name the authority with sslrootcert=… in DATABASE_URL, and the host as the certificate does.',
  'its certificate is not trusted (%)',
];
const starting: Known = ['Try again when the server accepts connections.'];

/** By the code of a system call, of TLS, or by SQLSTATE. */
const FINDINGS: Readonly<Record<string, Known>> = {
  ENOTFOUND: ['Correct the host in DATABASE_URL.', 'its host cannot be found'],
  EAI_AGAIN: ['See that this machine can look up names.', 'its host cannot be looked up now'],
  ECONNREFUSED: [
    'Start the server, or correct host and port in DATABASE_URL.',
    'nothing listens on its port',
  ],
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  ETIMEDOUT: unreachable,
  ECONNRESET: unreachable,
  ENOENT: ['Correct the name of the file in DATABASE_URL.'],
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_HAS_EXPIRED: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: untrusted,
  '08P01': [
    'Behind PgBouncer set DATABASE_POOLER=transaction; user and password stand in its auth_file as well.',
  ],
  '25006': [
    'Name the primary in DATABASE_URL; every server of a cluster may stand there, behind commas.',
    'the server accepts no writes',
  ],
  '28000': ['Let the role log in from here (LOGIN, pg_hba.conf), or ask for TLS with sslmode=verify-full.'],
  '28P01': ['Correct user and password in DATABASE_URL; special characters are percent-encoded there.'],
  '3D000': ["Make it: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0."],
  '42501': [
    'Run plant-store migrate as the owner of the database, or make the role its owner: ALTER DATABASE … OWNER TO …',
  ],
  '53100': ['Make room on the disk of the server.'],
  '53300': ["Lower DATABASE_CONNECTIONS, or raise the server's max_connections or the limit of the role."],
  '57P01': starting,
  '57P02': starting,
  '57P03': starting,
};
