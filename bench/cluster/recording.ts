import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createUserIn } from '../servers/postgres.ts';
import type { Cluster } from './cluster.ts';
import { type Checked, check } from './history/check.ts';
import { readHistory } from './history/history.ts';
import { startWorkload } from './history/workload.ts';
import { addresses } from './network.ts';

/** Requests per second. Half of a core would be a thousand; the databases, etcd and Patroni need most of two. */
const RATE = 40;

/** Sends requests as users of its own, and records the history in a file of the folder; `stop` checks it. */
export async function startRecording(
  { urls, databaseUrl, program }: Cluster,
  seed: number,
  folder: string,
): Promise<{ stop(): Promise<Checked> }> {
  const [owner, viewer] = ['owner', 'viewer'].map((name) => `${name}-${seed}-${Date.now()}`);
  const out = join(folder, `history-${seed}.jsonl`);
  const workload = await startWorkload({
    ...{ urls, out, seed, rate: RATE },
    token: createUserIn(databaseUrl, owner ?? '', program),
    receiverUrl: `http://${addresses.clients}:0`,
    viewer: {
      token: createUserIn(databaseUrl, viewer ?? '', program),
      async share(isShared) {
        const between = ['--owner', owner ?? '', '--viewer', viewer ?? ''];
        const env = { ...process.env, DATABASE_URL: databaseUrl };
        await promisify(execFile)(
          process.execPath,
          [program, 'share', isShared ? 'add' : 'remove', ...between],
          { env },
        );
      },
    },
  });
  return {
    async stop() {
      await workload.stop();
      return check(readHistory(out));
    },
  };
}
