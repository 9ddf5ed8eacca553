import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAM } from '../../testkit/processes/executable.ts';
import { type Server, startServer } from './server.ts';
import { SERVER_CORE } from './tools.ts';

/** The token of the user `admin` in every store of the benchmark. */
export const TOKEN = 'bench-token-0123456789-abcdefghijklmnop';

/**
 * `prefix` precedes the command, such as strace with its arguments; `core: undefined` runs on any. `root` is the
 * folder of another version of the program.
 */
export type ServiceOptions = {
  dataDir: string;
  root?: string | undefined;
  env?: Record<string, string>;
  prefix?: string[];
  core?: number | undefined;
  errorLog?: string;
};

/** Starts the service like `npm start`, on a free loopback port. */
export function startService({
  dataDir,
  env,
  root,
  prefix = [],
  ...options
}: ServiceOptions): Promise<Server> {
  const core = 'core' in options ? options.core : SERVER_CORE;
  return startServer({
    command: [
      ...prefix,
      process.execPath,
      root === undefined ? PROGRAM : join(root, 'bin/plant-store'),
      'serve',
    ],
    env: { PORT: '0', HOST: '127.0.0.1', DATA_DIR: dataDir, BOOTSTRAP_TOKEN: TOKEN, ...env },
    ...(core === undefined ? {} : { core }),
    ...(options.errorLog === undefined ? {} : { errorLog: options.errorLog }),
  });
}

/** For the environment of a service: loads a module of `bench/reference` before its own. */
export function loadingFirst(
  name: 'without-authentication' | 'without-kept-lists' | 'brief-retention',
): Record<string, string> {
  const url = new URL(`../reference/${name}.ts`, import.meta.url);
  return { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${url}` };
}

export type ReferenceName =
  | 'bare'
  | 'outbox'
  | 'single-insert'
  | 'undici-loop'
  | 'graphile-worker'
  | 'fast-receiver'
  | 'bad-receivers';

/** Starts a server of `bench/reference`, by default on the servers' core. */
export function startReference(
  name: ReferenceName,
  {
    dataDir = '.',
    core = SERVER_CORE,
    env = {},
  }: { dataDir?: string; core?: number; env?: Record<string, string> } = {},
): Promise<Server> {
  return startServer({
    command: [process.execPath, fileOf(`../reference/${name}.ts`)],
    env: { DATA_DIR: dataDir, ...env },
    core,
  });
}

/** Creates a user on the command line while the service runs, and returns a token with every scope. */
export function createUser(dataDir: string, name: string): string {
  runBeside(dataDir, 'user', 'create', name);
  return createToken(dataDir, name);
}

/** A user's token with every scope, created on the command line while the service runs. */
export function createToken(dataDir: string, user: string): string {
  return runBeside(dataDir, 'token', 'create', '--user', user).trim();
}

function runBeside(dataDir: string, ...args: string[]): string {
  return execFileSync(process.execPath, [PROGRAM, ...args], {
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'ignore'],
    encoding: 'utf8',
  });
}

function fileOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
