import { join } from 'node:path';
import { temporaryFolder } from '../servers/cleanup.ts';
import type { Server } from '../servers/server.ts';
import { startService } from '../servers/service.ts';
import { loopbackAllowed } from '../servers/webhooks.ts';

/** The most a schedule may have: no delivery may run out of attempts. */
const ATTEMPTS = 100;
const schedule = ['0s', ...Array.from({ length: ATTEMPTS - 1 }, () => '200ms')].join();

let folder: ReturnType<typeof temporaryFolder> | undefined;
let replicas = 0;

/** Starts a replica in its own process. Its log goes to a file in a folder that is removed at the end. `root`: another version. */
export function startReplica(
  databaseUrl: string,
  env: Record<string, string> = {},
  root?: string,
): Promise<Server> {
  folder ??= temporaryFolder();
  const log = join(folder.path, `replica-${++replicas}.log`);
  return startService({
    dataDir: folder.path,
    root,
    env: {
      ...loopbackAllowed,
      DATABASE_URL: databaseUrl,
      WEBHOOK_RETRY_SCHEDULE: schedule,
      ...env,
    },
    // exec: the program replaces the shell, so that signals reach it.
    prefix: ['sh', '-c', 'exec "$@" >>"$0"', log],
    errorLog: log,
    core: undefined,
  });
}

/** Keeps the logs, and returns where they are. */
export function keepLogs(): string | undefined {
  folder?.keep();
  return folder?.path;
}
