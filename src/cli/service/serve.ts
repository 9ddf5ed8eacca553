import { ADMIN } from '../../access/bootstrap.ts';
import type { App } from '../../app.ts';
import { type Config, type Flags, readConfig } from '../../config/config.ts';
import { version } from '../../config/package.ts';
import { systemRuntime } from '../../runtime.ts';
import { Failure, messageOf } from '../failure.ts';
import { stopSignal } from '../terminal/signals.ts';
import { insist, type Line, type Styled, say, shellWord } from '../terminal/terminal.ts';
import { settingOptions, type Verb } from '../verb.ts';
import { databaseFailure } from './database-failure.ts';
import { storeFailure } from './store-failure.ts';
import { codeOf } from './system-failure.ts';

export const verb: Verb = {
  options: settingOptions(),
  examples: [
    'serve',
    'serve --port 8080 --host 0.0.0.0 --data-dir /var/lib/plant-store',
    'serve --webhook-allowed-networks 10.0.0.0/8,127.0.0.0/8',
  ],
  notes: `With DATABASE_URL=postgres://… the store is in that database, for any number of replicas. Each setting is also an
environment variable, named in brackets; the flag wins. BOOTSTRAP_TOKEN, DATABASE_URL and OTEL_EXPORTER_OTLP_HEADERS have
no flag, since every user of the machine can read a command line.`,
  run,
};

async function run(flags: Flags): Promise<void> {
  const config = readConfig(process.env, flags);
  try {
    await serveUntilStopped(config);
    process.exit(0);
  } catch (error) {
    die(startFailure(error, config));
  }
}

async function serveUntilStopped(config: Config): Promise<void> {
  const [{ createLog }, { startApp }] = await Promise.all([import('./log.ts'), import('../../app.ts')]);
  const log = await createLog(config);
  const runtime = systemRuntime(log);
  const stopped = stopSignal();
  const starting = startApp(config, runtime, { log, onFatal: die });
  // A start may wait for the schema for long. Nothing is lost when it ends halfway.
  const app = await Promise.race([starting, stopped.then(() => undefined)]);
  if (app) greet(app, config);
  const signal = await stopped;
  // Ctrl+C comes from a person, SIGTERM from a supervisor.
  const report = (message: string) =>
    signal === 'SIGINT' ? say(`${message}.`) : log.info({ signal }, message.toLowerCase());
  report('Stopping');
  await app?.stop();
  report('Stopped');
}

/** Ends at once, whatever is open: only a new start can find out the outcome of an unknown commit. */
function die(error: unknown): never {
  insist(...messageOf(error));
  process.exit(1);
}

function greet({ url, firstToken }: App, config: Config): void {
  // The first token is shown only once.
  const tell = firstToken === undefined ? say : insist;
  tell(...greeting(url, config, firstToken));
}

/** @param token set only on the first start, and shown only then */
function greeting(url: string, config: Config, token: string | undefined): Line[] {
  const { databaseUrl, dataDir, roles } = config;
  const answersApi = roles.has('api');
  const row = (label: string, text: string | Styled): Line => [
    '  ',
    { style: 'dim', text: label },
    '  ',
    text,
  ];
  const toPaste = (purpose: string, command: string): Line[] => [
    '',
    ['  ', { style: 'dim', text: `To ${purpose}:` }],
    '',
    `  ${command}`,
  ];
  const lines: Line[] = [
    '',
    ['  ', { style: 'bold', text: `Plant Store ${version}` }],
    '',
    ...(answersApi
      ? [row('Console', `${url}/console`), row('API    ', url), row('Docs   ', `${url}/docs`)]
      : [row('Role   ', 'sends webhooks'), row('Ready  ', `${url}/readyz`)]),
    row('Data   ', databaseUrl?.shown ?? dataDir),
  ];
  if (token !== undefined) {
    lines.push(row('Token  ', { style: 'green', text: token }));
    lines.push('', `  Keep the token: it signs you in as the user ${ADMIN} and is shown only once.`);
  } else if (answersApi) {
    const folder = databaseUrl ? '' : ` --data-dir ${shellWord(dataDir)}`;
    lines.push(...toPaste('create another token', `plant-store token create --user ${ADMIN}${folder}`));
  }
  if (answersApi) lines.push(...toPaste('list your plants', curl(url, token)));
  lines.push('');
  return lines;
}

/** One line for a POSIX shell. Without a known token it uses the variable TOKEN. */
function curl(url: string, token: string | undefined): string {
  const authorization =
    token === undefined ? '"Authorization: Bearer $TOKEN"' : shellWord(`Authorization: Bearer ${token}`);
  return `curl ${shellWord(`${url}/plants`)} -H ${authorization}`;
}

/** Explains a start that failed for an external reason, in one line with advice. */
function startFailure(error: unknown, config: Config): unknown {
  if (!(error instanceof Error)) return error;
  const ofDatabase = config.databaseUrl && databaseFailure(error, config.databaseUrl);
  if (ofDatabase instanceof Failure) return ofDatabase;
  const { host, port, hostFlag, portFlag } = triedAddress(error, config);
  const code = codeOf(error) ?? '';
  const known: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port} of ${host} is in use. Choose another with ${portFlag}; 0 picks a free one.`,
    EADDRNOTAVAIL: `This machine has no address ${host} to listen on. Choose another with ${hostFlag}.`,
    ENOTFOUND: `The host ${host} does not resolve. Choose another with ${hostFlag}.`,
  };
  const isListening = 'syscall' in error && error.syscall === 'listen';
  const text =
    known[code] ?? (isListening ? `Cannot listen on port ${port} of ${host}: ${code}.` : undefined);
  return text === undefined ? storeFailure(error, config.dataDir) : new Failure(text, { cause: error });
}

/** Node names the port, unless it is 0, and the address, or the host that does not resolve. */
function triedAddress(error: Error, { port, host, metricsPort, metricsHost }: Config) {
  const tried = 'hostname' in error ? error.hostname : 'address' in error ? error.address : undefined;
  const isOfMetrics =
    'port' in error ? error.port === metricsPort : tried === metricsHost && metricsHost !== host;
  return isOfMetrics && metricsPort !== undefined
    ? { port: metricsPort, host: metricsHost, portFlag: '--metrics-port', hostFlag: '--metrics-host' }
    : { port, host, portFlag: '--port', hostFlag: '--host' };
}
