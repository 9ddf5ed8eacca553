/** One of the database servers in the URL. */
export type Host = { host: string; port: number };

/**
 * A parsed libpq URL (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS):
 * `postgres://user:password@host1:5432,host2:5432/database?sslmode=verify-full`. Of several hosts, the one that
 * accepts writes is used.
 */
export type DatabaseUrl = {
  hosts: readonly Host[];
  /** The URL for one host, in the form that the library reads. */
  urlFor(host: Host): string;
  /** As given, with the password: for another thread. */
  text: string;
  /** For messages: without password and parameters. */
  shown: string;
};

const PORT = 5432;
const SSL_MODES = new Set(['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']);
/** The parameters of TLS that the library reads; it ignores others. */
const OF_TLS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', 'ssl'];
/** These would silently override the part before the question mark. */
const OVERRIDING = new Set(['host', 'port', 'user', 'password', 'dbname', 'database']);
/** These would silently override the limits that the service relies on. */
const TIMEOUTS = new Set([
  'query_timeout',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
]);
const FORM = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(\/[^?#]*)?(\?[^#]*)?$/;

/** Throws an `Error` whose message is a sentence with the rule. */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  const [, userInfo, authority = '', path = '', query = ''] = FORM.exec(text) ?? [];
  const hosts = authority.split(',').map(parseHost);
  const database = path.slice(1);
  if (!FORM.test(text) || hosts.includes(undefined) || database === '' || /\s/.test(text)) throw malformed();
  for (const [name, value] of new URLSearchParams(query)) checkParameter(name, value);
  const named = hosts.filter((host) => host !== undefined);
  const prefix = userInfo === undefined ? '' : `${userInfo}@`;
  const user = userInfo?.split(':')[0];
  const urlFor = (host: Host) => `postgres://${prefix}${addressOf(host)}${path}${verifying(query)}`;
  // `URL` detects an invalid character in a host, but no invalid escape.
  if (named.some((host) => !URL.canParse(urlFor(host))) || !isDecodable(prefix + path)) throw malformed();
  return {
    hosts: named,
    urlFor,
    text,
    shown: `postgres://${user === undefined ? '' : `${user}@`}${authority}${path}`,
  };
}

/** Host and port as in a URL. */
export function addressOf({ host, port }: Host): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Throws when the library would silently do something else. */
function checkParameter(name: string, value: string): void {
  if (OVERRIDING.has(name)) throw malformed();
  if (TIMEOUTS.has(name))
    throw new Error(`The service has its own ${name}; remove it from the database URL.`);
  if (name === 'sslmode' && !SSL_MODES.has(value)) {
    throw new Error(`The parameter sslmode must be one of ${[...SSL_MODES].join(', ')}.`);
  }
  // With a misspelt name, the connection might not use TLS.
  if (/ssl|tls/i.test(name) && !OF_TLS.includes(name)) {
    throw new Error(`A parameter of TLS is unknown; known are ${OF_TLS.join(', ')}.`);
  }
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The library treats each of these as `verify-full`, with a long warning, unless it is set to be like libpq. */
function verifying(query: string): string {
  if (/[?&]uselibpqcompat=true(?=&|$)/.test(query)) return query;
  return query.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

function parseHost(text: string): Host | undefined {
  const [, address, name, port] = /^(?:\[([\da-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = address ?? name;
  const number = port === undefined ? PORT : Number(port);
  if (host === undefined || number < 1 || number > 65_535) return undefined;
  return { host, port: number };
}

function malformed(): Error {
  // The value is not repeated: it may contain a password.
  return new Error(
    'The database URL must have the form postgres://user:password@host:5432/database; ' +
      'separate further hosts with commas, and percent-encode special characters.',
  );
}
