import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, connect as openTcp, type Socket } from 'node:net';
import { connect as openTls } from 'node:tls';
import { lookups } from '../../limits.ts';
import { hostOf, portOf, type Target } from './target.ts';

export type ConnectOptions = {
  target: Target;
  /** As `target.read` returned it. */
  url: URL;
  /** The TLS session of an earlier connection to the same receiver, which saves half of the handshake. */
  session?: Buffer | undefined;
  /** Called with the address that is tried first. */
  onTry?(address: string): void;
  /** Called with a session that a further connection may use. */
  onSession?(session: Buffer): void;
};

export type Connected = (
  ...result: [error: Error, socket: undefined] | [error: null, socket: Socket]
) => void;

/** How long a connection may be idle before the system probes the receiver. */
const KEEP_ALIVE_PROBE_MS = 60_000;

/**
 * Opens a connection only to addresses that may be targets. It connects to exactly the addresses that it checked, so
 * a name that changes between two lookups gains nothing. Literal addresses, for which Node does no lookup, are
 * checked first, and the remote address of every socket afterwards. The caller bounds the time: until `connected` is
 * called it may destroy the returned socket, and `connected` is then not called.
 */
export function connect(options: ConnectOptions, connected: Connected): Socket | undefined {
  const { url, session, onTry, onSession } = options;
  const host = hostOf(url);
  const isAddress = isIP(host) !== 0;
  if (isAddress) {
    const error = refusedError(options, host);
    if (error !== undefined) {
      // Deferred, because the HTTP client is in the middle of its own step.
      queueMicrotask(() => connected(error, undefined));
      return undefined;
    }
    onTry?.(host);
  }
  const where = {
    host,
    port: portOf(url),
    lookup: guardedLookup(options),
    noDelay: true,
    autoSelectFamilyAttemptTimeout: lookups.nextAddressMs,
  };
  // A TLS server name has no final dot (RFC 6066 §3) and is not an address.
  const servername = isAddress ? '' : host.replace(/\.$/, '');
  const isTls = url.protocol === 'https:';
  const socket = isTls
    ? openTls({ ...where, servername, session, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] })
    : openTcp(where);
  socket.setKeepAlive(true, KEEP_ALIVE_PROBE_MS);
  if (onSession) socket.on('session', onSession);
  socket.on('error', fail);
  socket.once(isTls ? 'secureConnect' : 'connect', () => {
    // From here on the user of the connection handles its errors.
    socket.off('error', fail);
    const { remoteAddress } = socket;
    // The system has forgotten the address of a peer that has reset the connection.
    const wrong = remoteAddress === undefined ? resetError() : refusedError(options, remoteAddress);
    if (wrong === undefined) {
      connected(null, socket);
      return;
    }
    socket.on('error', () => {});
    socket.destroy();
    connected(wrong, undefined);
  });
  return socket;

  function fail(error: Error): void {
    socket.off('error', fail).on('error', () => {});
    connected(error, undefined);
  }
}

function guardedLookup({ target, url, onTry }: ConnectOptions): LookupFunction {
  return (hostname, { all }, callback) => {
    const admitted = target.resolve(hostname).then((found) => few(target.admit(url.protocol, found)));
    admitted.then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) {
          callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), []);
          return;
        }
        onTry?.(first.address);
        if (all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };
}

/** The first of each kind: a name may have thousands of addresses, each of a machine that has nothing to do with it. */
function few(addresses: readonly LookupAddress[]): LookupAddress[] {
  const kinds = Object.values(Object.groupBy(addresses, ({ family }) => family));
  const kept = new Set(kinds.flatMap((kind) => kind?.slice(0, lookups.addressesTried)));
  return addresses.filter((address) => kept.has(address));
}

function resetError(): Error {
  return Object.assign(new Error('reset'), { code: 'ECONNRESET' });
}

function refusedError({ target, url }: ConnectOptions, address: string): Error | undefined {
  try {
    target.admit(url.protocol, [{ address, family: isIP(address) }]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error('refused', { cause: error });
  }
}
