import { type LookupAddress, lookup } from 'node:dns';
import type { Resolve } from './target.ts';

/** The part of `dns.lookup` that is used. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Resolves names as the machine does (hosts file included). Look-ups of one name at the same time are one: they
 * run in few threads, and a name whose servers hang must not take all of them. Nothing is remembered, so that
 * every connection is made to what the name means now.
 */
export function createResolve(look: Lookup = lookup): Resolve {
  const underWay = new Map<string, Promise<LookupAddress[]>>();
  return (hostname) => {
    const same = underWay.get(hostname);
    if (same !== undefined) return same;
    const { promise, resolve, reject } = Promise.withResolvers<LookupAddress[]>();
    underWay.set(hostname, promise);
    look(hostname, { all: true }, (error, addresses) => {
      underWay.delete(hostname);
      if (error === null) resolve(addresses);
      else reject(error);
    });
    return promise;
  };
}
