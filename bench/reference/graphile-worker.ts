import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Logger, type Runner, run, runMigrations, type Task, type WorkerEvents } from 'graphile-worker';
import { newKeyPair, newSecret, sign } from '../../src/webhooks/sending/signature.ts';
import type { WorkerOrder } from '../servers/graphile-worker.ts';
import { serve } from './serve.ts';

/**
 * Webhooks with a job queue on PostgreSQL: graphile-worker, and a task that signs a request, sends it with `fetch`,
 * and throws on a response that is not 2xx. Each POST to it says how to tune the worker and how many jobs wait in the
 * database that DATABASE_URL names; the response follows when all of them are done and recorded.
 */

const connectionString = process.env.DATABASE_URL ?? '';
const logger = new Logger(() => () => {});
await runMigrations({ connectionString, logger });

serve(
  createServer(async (request, response) => {
    // Written by `servers/graphile-worker.ts`.
    const order = (await json(request)) as WorkerOrder;
    await work(order);
    response.writeHead(204).end();
  }),
);

async function work({ jobs, url, headers, tuning }: WorkerOrder): Promise<void> {
  const events: WorkerEvents = new EventEmitter();
  const done = Promise.withResolvers<void>();
  let left = jobs;
  events.on('job:success', () => {
    left--;
    if (left === 0) done.resolve();
  });
  events.on('job:error', ({ error }) => done.reject(error));
  const { localQueueSize, completeBatchMs, ...worker } = tuning;
  const runner: Runner = await run({
    logger,
    events,
    noHandleSignals: true,
    taskList: { deliver: deliverTo(url, headers) },
    crontab: '',
    preset: {
      worker: {
        ...worker,
        connectionString,
        ...(localQueueSize > 0 && { localQueue: { size: localQueueSize } }),
        ...(completeBatchMs >= 0 && {
          completeJobBatchDelay: completeBatchMs,
          failJobBatchDelay: completeBatchMs,
        }),
      },
    },
  });
  await done.promise;
  await runner.stop();
}

/** The payload of a job is the request's body. */
function deliverTo(url: string, headers: Record<string, string>): Task {
  const keys = { secrets: [newSecret(randomBytes)], privateKey: newKeyPair(randomBytes).privateKey };
  return async (payload) => {
    const body = JSON.stringify(payload);
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = sign({ id: String(headers['webhook-id']), timestamp, body, keys });
    const answer = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature },
      body,
    });
    if (!answer.ok) throw new Error(`The receiver answered ${answer.status}`);
    await answer.arrayBuffer();
  };
}
