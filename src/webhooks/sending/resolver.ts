import { type LookupAddress, lookup, promises } from 'node:dns';
import { lookups } from '../../limits.ts';
import { codeOf } from './attempt.ts';
import { createHosts, HOSTS_FILE, type Hosts } from './hosts.ts';
import type { Resolve } from './target.ts';

/** The part of `dns.lookup` that is used. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

export type ResolverParts = {
  hosts: Hosts;
  /** Name servers, each with its port if need be; those of the machine when there are none. */
  servers: readonly string[];
  /** Whatever else the machine knows names by. */
  look: Lookup;
  bounds: Partial<LookupBounds>;
};

export type LookupBounds = { [name in keyof typeof lookups]: number };

/**
 * Resolves names as the machine does, in this order: the hosts file, the name servers, and for a name that they do
 * not know whatever else there is (search domains, multicast DNS).
 *
 * Not by `dns.lookup` alone: two of its look-ups run at a time, in the whole process, and none can be ended, so that
 * two names whose servers hang would hold up every other name. Name servers are asked over sockets instead, as many
 * at a time as there are names. What is left for `dns.lookup` the name servers have answered with "no such name".
 *
 * Look-ups of one name at the same time are one. Nothing is remembered, so that every connection is made to what the
 * name means now.
 */
export function createResolve(parts: Partial<ResolverParts> = {}): Resolve {
  const { hosts = createHosts(HOSTS_FILE), servers = [], look = lookup } = parts;
  const bounds: LookupBounds = { ...lookups, ...parts.bounds };
  const ask = asker(servers, bounds);
  const lookUp = inPlaces(bounds.places, look);

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
  return (hostname) => {
    const same = underWay.get(hostname);
    if (same !== undefined) return same;
    const answer = resolve(hostname).finally(() => underWay.delete(hostname));
    underWay.set(hostname, answer);
    return answer;
  };
}

/** No such name, no address of it, or no name server at all: none of them takes time. */
const UNKNOWN: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

/** Asks for both kinds of addresses. Rejects when there are none; with `ECANCELLED` when it took too long. */
function asker(servers: readonly string[], { serverMs, tries, mostMs, otherKindMs }: LookupBounds): Resolve {
  return async (hostname) => {
    // A new one each time: it reads the machine's settings as they are now, and keeps no answers.
    const resolver = new promises.Resolver({ timeout: serverMs, tries });
    if (servers.length > 0) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    const timers = [setTimeout(cancel, mostMs)];
    const kind = async (family: 4 | 6): Promise<LookupAddress[]> => {
      const addresses = await (family === 4 ? resolver.resolve4(hostname) : resolver.resolve6(hostname));
      if (addresses.length > 0) timers.push(setTimeout(cancel, otherKindMs));
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

/** At most so many look-ups at a time; the others wait in the order in which they came. */
function inPlaces(places: number, look: Lookup): Resolve {
  const waiting: (() => void)[] = [];
  let free = places;
  return async (hostname) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await new Promise((resolve, reject) => {
        look(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
      });
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
