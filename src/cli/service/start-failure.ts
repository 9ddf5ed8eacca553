import type { Config } from '../../config/config.ts';
import { Failure } from '../failure.ts';
import { databaseFailure } from './database-failure.ts';
import { storeFailure } from './store-failure.ts';
import { codeOf } from './system-failure.ts';

type Explain = (at: Address) => string;

/** Where the service was to listen, and the flags for it. */
type Address = { port: number; host: string; portFlag: string; hostFlag: string };

/** By Node's code of a failed system call. */
const systemFailures: Readonly<Record<string, Explain>> = {
  EADDRINUSE: ({ host, port, portFlag }) =>
    `Port ${port} of ${host} is in use. Choose another with ${portFlag}; 0 picks a free one.`,
  EADDRNOTAVAIL: ({ host, hostFlag }) =>
    `This machine has no address ${host} to listen on. Choose another with ${hostFlag}.`,
  ENOTFOUND: ({ host, hostFlag }) => `The host ${host} does not resolve. Choose another with ${hostFlag}.`,
};

/** Explains a start that failed for an external reason, in one line with advice. */
export function startFailure(error: unknown, config: Config): unknown {
  if (!(error instanceof Error)) return error;
  const ofDatabase = config.databaseUrl && databaseFailure(error, config.databaseUrl);
  if (ofDatabase instanceof Failure) return ofDatabase;
  const code = codeOf(error) ?? '';
  const explain = systemFailures[code];
  const address = addressOf(error, config);
  if (explain) return new Failure(explain(address), { cause: error });
  if ('syscall' in error && error.syscall === 'listen')
    return new Failure(`Cannot listen on port ${address.port} of ${address.host}: ${code}.`, {
      cause: error,
    });
  return storeFailure(error, config.dataDir);
}

/** Node names the port, or the host that does not resolve. */
function addressOf(error: Error, { port, host, metricsPort, metricsHost }: Config): Address {
  const isOfMetrics =
    ('port' in error && error.port === metricsPort) ||
    ('hostname' in error && error.hostname === metricsHost && metricsHost !== host);
  return isOfMetrics && metricsPort !== undefined
    ? { port: metricsPort, host: metricsHost, portFlag: '--metrics-port', hostFlag: '--metrics-host' }
    : { port, host, portFlag: '--port', hostFlag: '--host' };
}
