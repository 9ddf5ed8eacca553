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
const FORM = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]*)(\/[^?#]*)?(\?[^#]*)?$/;

/** Throws an `Error` whose message is a sentence with the rule. */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  const [, userInfo, authority = '', path = '', query = ''] = FORM.exec(text) ?? [];
  const hosts = authority.split(',').map(parseHost);
  const database = path.slice(1);
  if (!FORM.test(text) || hosts.includes(undefined) || database === '' || /\s/.test(text)) throw malformed();
  const mode = /[?&]sslmode=([^&]*)/.exec(query)?.[1] ?? 'disable';
  if (!SSL_MODES.has(mode)) throw new Error(`The sslmode must be one of ${[...SSL_MODES].join(', ')}.`);
  // These would silently override the part before the question mark.
  if (/[?&](?:host|port|user|password|dbname|database)=/.test(query)) throw malformed();
  const named = hosts.filter((host) => host !== undefined);
  const prefix = userInfo === undefined ? '' : `${userInfo}@`;
  const user = userInfo?.split(':')[0];
  const urlFor = (host: Host) => `postgres://${prefix}${addressOf(host)}${path}${verifying(query)}`;
  // `URL` detects other errors: an invalid escape, or an invalid character in a host.
  if (named.some((host) => !URL.canParse(urlFor(host)))) throw malformed();
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
