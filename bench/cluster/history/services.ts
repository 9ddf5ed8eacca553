import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PROGRAM } from '../../../testkit/processes/executable.ts';
import { makeServer, NO_FSYNC } from '../../postgres/servers/servers.ts';
import { temporaryFolder } from '../../servers/cleanup.ts';
import type { Server } from '../../servers/server.ts';
import { startService, TOKEN } from '../../servers/service.ts';
import { loopbackAllowed } from '../../servers/webhooks.ts';
import type { WorkloadOptions } from './workload.ts';

/** Healthy services to record a history of. */
export type Services = Pick<WorkloadOptions, 'urls' | 'token'> & {
  viewer: NonNullable<WorkloadOptions['viewer']>;
  stop(): Promise<void>;
};

/** One service under two URLs, or two replicas on one PostgreSQL. */
export async function startServices(store: 'sqlite' | 'postgres'): Promise<Services> {
  const folder = temporaryFolder();
  const database = store === 'postgres' ? await makeServer() : undefined;
  await database?.start(NO_FSYNC);
  const env = {
    ...loopbackAllowed,
    WEBHOOK_RETRY_SCHEDULE: '0s,200ms,1s,1s',
    DATA_DIR: folder.path,
    ...(database ? { DATABASE_URL: database.url() } : {}),
  };
  const start = () => startService({ dataDir: folder.path, env, core: undefined });
  const first = await start();
  const servers: Server[] = database ? [first, await start()] : [first];
  const run = (...args: string[]) => command(env, ...args);
  await run('user', 'create', 'viewer');
  const token = await run('token', 'create', '--user', 'viewer');
  const between = ['--owner', 'admin', '--viewer', 'viewer'];
  return {
    urls: [first.url, (servers[1] ?? first).url],
    token: TOKEN,
    viewer: {
      token,
      async share(isShared) {
        await run('share', isShared ? 'add' : 'remove', ...between);
      },
    },
    async stop() {
      for (const server of servers) await server.stop();
      await database?.stop();
    },
  };
}

/** Runs a verb beside the service; resolves with its output. */
async function command(env: Record<string, string>, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], {
    env: { ...process.env, ...env },
  });
  return stdout.trim();
}
