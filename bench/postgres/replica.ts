import { join } from 'node:path';
import { temporaryFolder } from '../servers/cleanup.ts';
import type { Server } from '../servers/server.ts';
import { startService } from '../servers/service.ts';
import { loopbackAllowed } from '../servers/webhooks.ts';

/** As many as a schedule may have: no delivery may run out of attempts. */
const ATTEMPTS = 100;
const schedule = ['0s', ...Array.from({ length: ATTEMPTS - 1 }, () => '200ms')].join();

let folder: ReturnType<typeof temporaryFolder> | undefined;
let replicas = 0;

/** Starts a replica of the service, in a process of its own. Its log is in a file of a folder that goes at the end. */
export function startReplica(databaseUrl: string, env: Record<string, string> = {}): Promise<Server> {
  folder ??= temporaryFolder();
  const log = join(folder.path, `replica-${++replicas}.log`);
  return startService({
    dataDir: folder.path,
    env: {
      ...loopbackAllowed,
      DATABASE_URL: databaseUrl,
      WEBHOOK_RETRY_SCHEDULE: schedule,
      ...env,
    },
    // The program takes the place of the shell, so that a signal reaches it.
    prefix: ['sh', '-c', 'exec "$@" >>"$0"', log],
    errorLog: log,
    core: undefined,
  });
}

/** Leaves the logs where they are, and says where. */
export function keepLogs(): string | undefined {
  folder?.keep();
  return folder?.path;
}
