import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { AppError } from '../../errors.ts';
import { delivery } from '../../limits.ts';
import { type AddressRule, type AllowedNetworks, addressRules, isAllowed, refusal } from './addresses.ts';

/** Rules for the URL itself; `addressRules` are those for its addresses. */
export const urlRules = {
  url: 'It must be an absolute URL, without white space or backslashes.',
  length: `It must have at most ${delivery.urlLength} characters.`,
  scheme: 'It must be https; http is allowed only for networks in WEBHOOK_ALLOWED_NETWORKS.',
  'user-info': 'It must not contain a user name or a password.',
  port: 'Its port must be from 1 to 65535.',
  host: `Its host must have at most ${delivery.hostBytes} bytes, in labels of 1 to ${delivery.labelBytes}, none of which is a bare "xn--".`,
} as const;

type Rule = keyof typeof urlRules | AddressRule;

/** A refused target. The message names the rule and reveals no address that a name resolved to. */
export class TargetRefused extends Error {
  constructor(rule: Rule, message: string) {
    super(`The webhook URL is refused by the rule "${rule}". ${message}`);
    this.name = 'TargetRefused';
  }
}

/** Resolves a name to its addresses; rejects when it has none. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Where webhooks may point. */
export type Target = ReturnType<typeof createTarget>;

type TargetParts = {
  allowed: AllowedNetworks;
  resolve: Resolve;
  /** How long `check` waits for a lookup, in milliseconds. */
  lookupMs?: number;
};

export function createTarget({ allowed, resolve, lookupMs = delivery.lookupMs }: TargetParts) {
  /** Under way for `check`. */
  let lookups = 0;

  /** Parses a URL and applies every rule that needs no lookup. Throws `TargetRefused`. */
  function read(text: string): URL {
    const url = parse(text);
    const addresses = addressesOf(url);
    if (addresses !== undefined) admit(url.protocol, addresses);
    else if (url.protocol === 'http:' && allowed.length === 0) throw refusedBy('scheme');
    return url;
  }

  /**
   * The addresses of a host that may be connected to. Throws `TargetRefused` if one of them may not: names that mix
   * public and private addresses are a known way past such checks. Only if the operator allowed a network that the
   * host is in are the other addresses dropped instead: allowing 127.0.0.0/8 is meant to allow `localhost`, though
   * that is also ::1.
   */
  function admit(protocol: string, addresses: readonly LookupAddress[]): LookupAddress[] {
    const rules = addresses.map(({ address }) => ruleAgainst(protocol, address, allowed));
    const admitted = addresses.filter((_, n) => rules[n] === undefined);
    const broken = rules.find((rule) => rule !== undefined);
    if (broken === undefined || admitted.some(({ address }) => isAllowed(address, allowed))) return admitted;
    if (broken === 'scheme') throw refusedBy(broken);
    const advice = 'The operator can allow it in WEBHOOK_ALLOWED_NETWORKS.';
    throw new TargetRefused(broken, `Its host has ${addressRules[broken].is}. ${advice}`);
  }

  /**
   * Called when a webhook is created: rejects with `AppError` 42201 unless the URL may be a target. Accepts a name
   * that does not resolve yet, or while many are looked up, since every attempt checks again.
   */
  async function check(text: string): Promise<void> {
    try {
      const url = read(text);
      if (addressesOf(url) !== undefined || lookups >= delivery.lookups) return;
      lookups++;
      // It goes on when it is no longer waited for.
      const addresses = resolve(url.hostname).finally(() => lookups--);
      admit(url.protocol, await within(lookupMs, addresses));
    } catch (error) {
      if (error instanceof TargetRefused) throw new AppError(42201, error.message, { cause: error });
      throw error;
    }
  }

  return { read, admit, check, resolve };
}

/** The host of a target: a name, or an address without brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

export function portOf({ port, protocol }: URL): number {
  return Number(port || (protocol === 'http:' ? 80 : 443));
}

/** Refuses URLs that `URL` would silently repair: every program must read the stored URL as the same target. */
function parse(text: string): URL {
  const url = MENDED.test(text) ? null : URL.parse(text);
  if (url === null) throw refusedBy('url');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refusedBy('scheme');
  const [, authority] = AUTHORITY.exec(text) ?? [];
  if (authority === undefined) throw refusedBy('url');
  if (authority.includes('@')) throw refusedBy('user-info');
  if (url.port === '0') throw refusedBy('port');
  if (url.href.length > delivery.urlLength) throw refusedBy('length');
  if (!isHost(url.hostname)) throw refusedBy('host');
  return url;
}

/**
 * Whether DNS could hold it (RFC 1035 §2.3.4). Checked after `URL` has converted it to ASCII, since percent-encoding
 * and IDNA can make a host longer, or a label empty. The final dot of an absolute name belongs to no label. A name
 * that TLS would refuse as too long must be caught here: its error would fail another delivery (decision 49).
 */
function isHost(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  const labels = name.split('.');
  return (
    name.length <= delivery.hostBytes &&
    labels.every((label) => label !== '' && label.length <= delivery.labelBytes && label !== 'xn--')
  );
}

/** `URL` drops white space and control characters, and reads backslashes as slashes. */
const MENDED = /[\s\p{Cc}\\]/u;
/** Requires exactly two slashes. */
const AUTHORITY = /^[a-z]+:\/\/([^/?#]+)/i;

function refusedBy(rule: keyof typeof urlRules): TargetRefused {
  return new TargetRefused(rule, urlRules[rule]);
}

function ruleAgainst(
  protocol: string,
  address: string,
  allowed: AllowedNetworks,
): AddressRule | 'scheme' | undefined {
  const rule = refusal(address, allowed);
  if (rule !== undefined) return rule;
  return protocol === 'http:' && !isAllowed(address, allowed) ? 'scheme' : undefined;
}

/**
 * The addresses that need no lookup: of a literal, which `URL` has made canonical, and of `localhost` and its
 * subdomains (RFC 6761 §6.3), with or without the final dot.
 */
function addressesOf(url: URL): LookupAddress[] | undefined {
  const host = hostOf(url);
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  if (!/(?:^|\.)localhost\.?$/.test(host)) return undefined;
  return [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];
}

/** No addresses when the name does not resolve, or not in time. */
async function within(ms: number, addresses: Promise<LookupAddress[]>): Promise<LookupAddress[]> {
  const { promise: late, resolve } = Promise.withResolvers<LookupAddress[]>();
  using _timer = setTimeout(resolve, ms, []);
  return await Promise.race([addresses, late]).catch(() => []);
}
