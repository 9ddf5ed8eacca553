import pg from 'pg';
import { database as limits } from '../../../limits.ts';
import type { Database } from './database.ts';

/** Runs work on a connection of its own, because it may take longer than any statement of the service. */
export async function withOwnClient<T>(
  database: Pick<Database, 'primaryUrl'>,
  name: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: await database.primaryUrl(),
    connectionTimeoutMillis: limits.connectMs,
    application_name: `plant-store ${name}`,
    // Nothing is sent during a long statement, and a NAT drops connections that are silent for minutes.
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
  });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
