import { type LookupAddress, lookup, promises } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { lookups } from '../../limits.ts';
import { codeOf } from './attempt.ts';
import type { Resolve } from './target.ts';

/** The part of `dns.lookup` that is used. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

export type ResolverParts = {
  hosts: ReturnType<typeof createHosts>;
  /** Name servers, each with a port if needed; when empty, those of the machine. */
  servers: readonly string[];
  /** Whatever else the machine resolves names by. */
  look: Lookup;
  bounds: Partial<LookupBounds>;
};

type LookupBounds = Record<keyof typeof lookups, number>;

/**
 * Resolves names as the machine does, in this order: the hosts file, the name servers, and for names they do not
 * know, everything else (search domains, multicast DNS).
 *
 * `dns.lookup` alone would not do: in the whole process only two of its lookups run at a time, and none can be
 * cancelled, so two names with hanging servers would block every other name. Instead, name servers are queried over
 * sockets, as many at a time as there are names. `dns.lookup` gets only names for which the name servers answered "no
 * such name", one at a time: the other lookup is for the rest of the process, such as the host of the database.
 * Concurrent lookups of one name are shared. Nothing is cached, so every connection goes to the current address.
 */
export function createResolve(parts: Partial<ResolverParts> = {}): Resolve {
  const { hosts = createHosts(HOSTS_FILE), servers = [], look = lookup } = parts;
  const bounds: LookupBounds = { ...lookups, ...parts.bounds };
  const ask = asker(servers, bounds);
  const lookUp = oneAtATime(look);

  async function resolve(hostname: string): Promise<LookupAddress[]> {
    const known = hosts(hostname);
    if (known !== undefined) return known;
    try {
      return await ask(hostname);
    } catch (error) {
      if (!UNKNOWN.has(codeOf(error))) throw error;
      return lookUp(hostname);
    }
  }

  const underWay = new Map<string, Promise<LookupAddress[]>>();
  return (hostname) =>
    underWay.getOrInsertComputed(hostname, () => resolve(hostname).finally(() => underWay.delete(hostname)));
}

/** No such name, no address of this kind, or no name server at all: none of these takes time. */
const UNKNOWN: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

/** Asks for both kinds of addresses. Rejects when there are none; with `ECANCELLED` after the timeout. */
function asker(servers: readonly string[], { serverMs, tries, mostMs, otherKindMs }: LookupBounds): Resolve {
  return async (hostname) => {
    // A new one each time: it reads the machine's current settings and caches nothing.
    const resolver = new promises.Resolver({ timeout: serverMs, tries });
    if (servers.length > 0) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    const timers = [setTimeout(cancel, mostMs)];
    const kind = async (family: 4 | 6): Promise<LookupAddress[]> => {
      const addresses = await (family === 4 ? resolver.resolve4(hostname) : resolver.resolve6(hostname));
      // IPv6 addresses alone are of no use to a machine without IPv6, so a lost query for the others is repeated once.
      if (addresses.length > 0) timers.push(setTimeout(cancel, family === 4 ? otherKindMs : 2 * serverMs));
      return addresses.map((address) => ({ address, family }));
    };
    const answers = await Promise.allSettled([kind(4), kind(6)]);
    for (const timer of timers) clearTimeout(timer);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const errors = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    throw errors.find((error) => !UNKNOWN.has(codeOf(error))) ?? errors[0] ?? new Error('no address');
  };
}

/** The others wait in order. */
function oneAtATime(look: Lookup): Resolve {
  let last: Promise<unknown> = Promise.resolve();
  return (hostname) => {
    const addresses = last.then(
      () =>
        new Promise<LookupAddress[]>((resolve, reject) => {
          look(hostname, { all: true }, (error, found) => (error ? reject(error) : resolve(found)));
        }),
    );
    last = addresses.catch(() => {});
    return addresses;
  };
}

/** For `createResolve`: only the hosts file and the name servers know names. */
export const nowhere: Lookup = (hostname, _, callback) =>
  callback(new Error(`no name server knows ${hostname}`), []);

const HOSTS_FILE =
  process.platform === 'win32'
    ? `${process.env.SystemRoot ?? 'C:\\Windows'}\\System32\\drivers\\etc\\hosts`
    : '/etc/hosts';

/**
 * Reads a hosts file (hosts(5)), and again whenever it changes. An unreadable file contains no names.
 * @returns the addresses that it gives to a name; undefined for an unknown name
 */
export function createHosts(file: string): (hostname: string) => LookupAddress[] | undefined {
  let version = '';
  let names = new Map<string, LookupAddress[]>();
  return (hostname) => {
    const now = versionOf(file);
    if (now !== version) {
      names = read(file);
      version = now;
    }
    return names.get(plain(hostname));
  };
}

function versionOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}

function read(file: string): Map<string, LookupAddress[]> {
  const names = new Map<string, LookupAddress[]>();
  for (const line of textOf(file).split('\n')) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const alias of aliases) {
      names.getOrInsertComputed(plain(alias), () => []).push({ address, family });
    }
  }
  return names;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Like the machine's own lookup, treats a missing or unreadable file as empty.
    return '';
  }
}

function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
