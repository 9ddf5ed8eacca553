import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { type AllowedNetworks, isAllowed } from '../../webhooks/sending/addresses.ts';

/** What is counted together: an IPv4 address, or the /64 of an IPv6 one, out of which a client has all it wants. */
export type ClientNetwork = string;

/**
 * Where a request comes from: the other end of its connection or, as long as that is a proxy that is trusted, the one
 * that the proxy names, which is the last entry of X-Forwarded-For. Entries before one that cannot be read are not
 * believed. The header Forwarded (RFC 7239) is not read: a proxy that does not know it passes on what its client wrote.
 */
export function clientNetwork(request: IncomingMessage, trusted: AllowedNetworks): ClientNetwork {
  let address = plainAddress(request.socket.remoteAddress ?? '');
  const forwarded = trusted.length > 0 ? request.headers['x-forwarded-for'] : undefined;
  // Node joins several of these headers to one text; the declarations allow for a list.
  const entries = forwarded === undefined ? [] : String(forwarded).split(',');
  while (address !== undefined && isAllowed(address, trusted)) {
    const before = plainAddress(addressOfEntry(entries.pop() ?? ''));
    if (before === undefined) break;
    address = before;
  }
  return networkOf(address);
}

/** The network of the other end of a connection. */
export function peerNetwork(remoteAddress: string | undefined): ClientNetwork {
  return networkOf(plainAddress(remoteAddress ?? ''));
}

/** An entry may carry a port, and an IPv6 address brackets. */
function addressOfEntry(entry: string): string {
  const [, bracketed, withPort] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry.trim()) ?? [];
  return bracketed ?? withPort ?? entry.trim();
}

/** Without a zone, and an IPv4 address as such when it stands in an IPv6 one. Undefined for what is no address. */
function plainAddress(text: string): string | undefined {
  const address = text.replace(/%.*$/, '');
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
  return isAddress ? ipaddr.process(address).toString() : undefined;
}

/** A connection that is gone has no address any more; its requests count together. */
function networkOf(address: string | undefined): ClientNetwork {
  if (address === undefined) return 'unknown';
  const parsed = ipaddr.parse(address);
  if (!(parsed instanceof ipaddr.IPv6)) return address;
  const half = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${half.join(':')}::/64`;
}
