import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { type AllowedNetworks, isAllowed } from '../../webhooks/sending/addresses.ts';

/**
 * Where a request comes from: the peer of its connection or, while that is a trusted proxy, the address that the
 * proxy names in the last entry of X-Forwarded-For. An unreadable entry ends the search. The header Forwarded (RFC
 * 7239) is ignored: a proxy that does not know it passes on whatever its client wrote.
 */
export function clientNetwork(request: IncomingMessage, trusted: AllowedNetworks): string {
  let address = plainAddress(request.socket.remoteAddress ?? '');
  const forwarded = trusted.length > 0 ? request.headers['x-forwarded-for'] : undefined;
  // Node joins several of these headers into one string; its types allow an array.
  const entries = forwarded === undefined ? [] : String(forwarded).split(',');
  while (address !== undefined && isAllowed(address, trusted)) {
    const before = plainAddress(addressOfEntry(entries.pop() ?? ''));
    if (before === undefined) break;
    address = before;
  }
  return networkOf(address);
}

/** The network of a connection's peer. */
export function peerNetwork(remoteAddress: string | undefined): string {
  return networkOf(plainAddress(remoteAddress ?? ''));
}

/** An entry may have a port, and an IPv6 address brackets. */
function addressOfEntry(entry: string): string {
  const [, bracketed, withPort] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry.trim()) ?? [];
  return bracketed ?? withPort ?? entry.trim();
}

/** Removes the zone, and unwraps an IPv4 address mapped into IPv6. Undefined for an invalid address. */
function plainAddress(text: string): string | undefined {
  const address = text.replace(/%.*$/, '');
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
  return isAddress ? ipaddr.process(address).toString() : undefined;
}

/**
 * The unit for counting clients: an IPv4 address, or an IPv6 /64, since a client can use any address in it. A closed
 * connection has no address; the requests of all such connections count together.
 */
function networkOf(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  const parsed = ipaddr.parse(address);
  if (!(parsed instanceof ipaddr.IPv6)) return address;
  const half = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${half.join(':')}::/64`;
}
