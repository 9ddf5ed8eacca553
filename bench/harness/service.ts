import { fileURLToPath } from 'node:url';
import { type Server, startServer } from './server.ts';
import { SERVER_CORE } from './tools.ts';

/** The token of the user `admin` of every store that the bench makes. */
export const TOKEN = 'bench-token-0123456789-abcdefghijklmnop';

/** `prefix` stands before the command, such as strace with its arguments; `core: undefined` runs on any. */
export type ServiceOptions = {
  dataDir: string;
  env?: Record<string, string>;
  prefix?: string[];
  core?: number | undefined;
};

/** Starts the service as `npm start` does, on a free port of the loopback. */
export function startService({ dataDir, env, prefix = [], ...options }: ServiceOptions): Promise<Server> {
  const core = 'core' in options ? options.core : SERVER_CORE;
  return startServer({
    command: [...prefix, process.execPath, fileOf('../../bin/plant-store'), 'serve'],
    env: { PORT: '0', HOST: '127.0.0.1', DATA_DIR: dataDir, BOOTSTRAP_TOKEN: TOKEN, ...env },
    ...(core === undefined ? {} : { core }),
  });
}

/** Starts one of the servers of `bench/reference`. */
export function startReference(name: 'bare' | 'single-insert', dataDir: string): Promise<Server> {
  return startServer({
    command: [process.execPath, fileOf(`../reference/${name}.ts`)],
    env: { DATA_DIR: dataDir },
    core: SERVER_CORE,
  });
}

function fileOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
