import { askFor } from '../load/client.ts';
import { runSql } from './postgres.ts';
import type { Server } from './server.ts';
import { startReference } from './service.ts';

/** The settings for graphile-worker in `reference/graphile-worker.ts`. */
export type WorkerOrder = {
  /** That wait. */
  jobs: number;
  url: string;
  headers: Record<string, string>;
  tuning: WorkerTuning;
};

export type WorkerTuning = {
  concurrentJobs: number;
  maxPoolSize: number;
  /** 0 for none. */
  localQueueSize: number;
  /** How long finished jobs are gathered; -1 records each by itself. */
  completeBatchMs: number;
};

/**
 * The first is recommended by its documentation for the most jobs a second
 * (https://worker.graphile.org/docs/performance).
 */
export const tunings: Record<string, WorkerTuning> = {
  'as its documentation tunes it': {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueueSize: 500,
    completeBatchMs: 0,
  },
  'without batches': { concurrentJobs: 24, maxPoolSize: 25, localQueueSize: 0, completeBatchMs: -1 },
  'batches of 5 ms': { concurrentJobs: 16, maxPoolSize: 10, localQueueSize: 500, completeBatchMs: 5 },
  'more at a time': { concurrentJobs: 64, maxPoolSize: 10, localQueueSize: 500, completeBatchMs: 5 },
};

export function startWorker(databaseUrl: string): Promise<Server> {
  return startReference('graphile-worker', { env: { DATABASE_URL: databaseUrl } });
}

/** Adds this many jobs, each with a body (JSON text) to send. */
export async function addJobs(databaseUrl: string, count: number, body: string): Promise<void> {
  await runSql(
    databaseUrl,
    `SELECT count(*)
     FROM graphile_worker.add_jobs(ARRAY(
       SELECT ROW('deliver', $1::json, NULL, now(), NULL, NULL, NULL, NULL)::graphile_worker.job_spec
       FROM generate_series(1, $2::int)
     ))`,
    [body, count],
  );
  await runSql(databaseUrl, 'ANALYZE');
}

/** Resolves when every job is done. */
export async function runWorker(worker: Server, order: WorkerOrder): Promise<void> {
  await askFor(worker.url, { method: 'POST', body: JSON.stringify(order) });
}
