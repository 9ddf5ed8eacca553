import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { Target } from './target.ts';

/**
 * Opens connections only to addresses that may be targets. The addresses that were looked at are the ones
 * that are connected to, so a name that changes between two look-ups gains nothing; literals, for which Node
 * calls no look-up, are looked at before, and the remote address of every socket after.
 *
 * @param timeoutMs for the connection and its TLS handshake
 */
export function guardedConnector(target: Target, timeoutMs: number): buildConnector.connector {
  const open = {
    'http:': buildConnector({ lookup: guardedLookup(target, 'http:'), timeout: timeoutMs, allowH2: false }),
    'https:': buildConnector({ lookup: guardedLookup(target, 'https:'), timeout: timeoutMs, allowH2: false }),
  };
  return (options, callback) => {
    const { hostname } = options;
    const protocol = options.protocol === 'http:' ? 'http:' : 'https:';
    const family = isIP(hostname);
    const error =
      family === 0 ? undefined : refusedError(target, protocol, hostname, { address: hostname, family });
    if (error !== undefined) {
      // Not at once: undici is still in the middle of its own step.
      queueMicrotask(() => callback(error, null));
      return;
    }
    open[protocol](options, (...[failure, socket]) => {
      if (failure !== null) callback(failure, null);
      else finish(socket);
    });

    function finish(socket: Socket): void {
      const address = socket.remoteAddress ?? '';
      const wrong = refusedError(target, protocol, hostname, { address, family: isIP(address) });
      if (wrong === undefined) {
        callback(null, socket);
        return;
      }
      socket.destroy();
      callback(wrong, null);
    }
  };
}

function guardedLookup(target: Target, protocol: string): LookupFunction {
  return (hostname, options, callback) => {
    const admitted = target
      .resolve(hostname)
      .then((addresses) => target.admit({ protocol, hostname }, addresses));
    admitted.then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), []);
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };
}

function refusedError(
  target: Target,
  protocol: string,
  hostname: string,
  address: LookupAddress,
): Error | undefined {
  try {
    target.admit({ protocol, hostname }, [address]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error('refused', { cause: error });
  }
}
