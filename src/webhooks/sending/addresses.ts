import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** Networks that the operator admits as targets although they are not public. */
export type AllowedNetworks = readonly Network[];

/**
 * The addresses that no webhook may reach, by the stable name of the rule that a refusal gives: everything that svix
 * or smokescreen refuse, and what each of them misses. IPv4 addresses mapped into IPv6 (`::ffff:0:0/96`) count as the
 * IPv4 address.
 */
export const addressRules = {
  unspecified: { is: 'an unspecified address', networks: ['0.0.0.0/8', '::/128'] },
  loopback: { is: 'a loopback address', networks: ['127.0.0.0/8', '::1/128'] },
  private: {
    is: 'a private network address',
    networks: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10'],
  },
  shared: { is: 'a carrier network address', networks: ['100.64.0.0/10'] },
  'link-local': { is: 'a link-local address', networks: ['169.254.0.0/16', 'fe80::/10'] },
  multicast: { is: 'a multicast address', networks: ['224.0.0.0/4', 'ff00::/8'] },
  documentation: {
    is: 'a documentation address',
    networks: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
  },
  benchmarking: { is: 'a benchmarking address', networks: ['198.18.0.0/15', '2001:2::/48'] },
  'embedded-ipv4': {
    is: 'an IPv6 address that embeds an IPv4 address',
    networks: ['::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '2001::/32', '2002::/16'],
  },
  reserved: {
    is: 'an address reserved for special use',
    networks: [
      '192.0.0.0/24',
      '192.31.196.0/24',
      '192.52.193.0/24',
      '192.88.99.0/24',
      '192.175.48.0/24',
      '240.0.0.0/4',
      '100::/64',
      '2001::/23',
      '2620:4f:8000::/48',
      '5f00::/16',
    ],
  },
} as const;

export type AddressRule = keyof typeof addressRules;

/** Reads CIDRs separated by commas. Throws an `Error` that names every invalid one. */
export function parseNetworks(text: string): AllowedNetworks {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  const networks = entries.map(networkOf);
  const bad = entries.filter((_, n) => networks[n] === undefined);
  if (bad.length > 0) {
    const quoted = bad.map((entry) => `"${entry}"`).join(', ');
    throw new Error(
      `The networks must be CIDRs such as 10.0.0.0/8 or fd00::/8, separated by commas; wrong: ${quoted}.`,
    );
  }
  return networks.filter((network) => network !== undefined);
}

/** The inverse of `parseNetworks`. */
export function formatNetworks(networks: AllowedNetworks): string {
  return networks.map(([address, bits]) => `${address.toString()}/${bits}`).join(',');
}

export function isAllowed(address: string, allowed: AllowedNetworks): boolean {
  const parsed = read(address);
  return parsed !== undefined && allowed.some((network) => contains(network, parsed));
}

/**
 * The rule that prevents an address from being a target; undefined for a globally routable unicast address, or an
 * allowed one. Expects the canonical text (`URL` converts to it); refuses unreadable text.
 */
export function refusal(address: string, allowed: AllowedNetworks = []): AddressRule | undefined {
  const parsed = read(address);
  if (parsed === undefined) return 'reserved';
  if (allowed.some((network) => contains(network, parsed))) return undefined;
  const rule = RULES.find(([, networks]) => networks.some((network) => contains(network, parsed)));
  if (rule !== undefined) return rule[0];
  return isGlobal(parsed) ? undefined : 'reserved';
}

// `Object.keys` does not know that these are all the keys.
const RULES = (Object.keys(addressRules) as AddressRule[]).map((rule): [AddressRule, Network[]] => [
  rule,
  addressRules[rule].networks.map((cidr) => ipaddr.parseCIDR(cidr)),
]);

const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Not just the remainder of the rules: also excludes new special ranges of the library and unassigned IPv6 space. */
function isGlobal(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || contains(GLOBAL_IPV6, address);
}

function read(text: string): Address | undefined {
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

function contains(network: Network, address: Address): boolean {
  return network[0].kind() === address.kind() && address.match(network);
}

/** Accepts only the four-part decimal form of IPv4: some programs read `010.0.0.0/8` as 8.0.0.0/8. */
function networkOf(entry: string): Network | undefined {
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(entry)) return ipaddr.parseCIDR(entry);
  if (!ipaddr.IPv6.isValidCIDR(entry) || entry.includes('%')) return undefined;
  const [address, bits] = ipaddr.parseCIDR(entry);
  // Addresses are unwrapped before they are compared, so a mapped network would match nothing.
  return address.range() === 'ipv4Mapped' ? undefined : [address, bits];
}
