import type pg from 'pg';
import type { PostgresStore } from '../../src/store/postgres/store.ts';
import { openStoreIn } from './postgres.ts';

/**
 * How many rows of tables and indexes a store reads for this work: the fewer of two times, as the server may read for
 * itself meanwhile.
 *
 * @param client the only one in the database
 */
export async function rowsReadBy(
  { url, client }: { url: string; client: pg.Client },
  work: (store: PostgresStore) => Promise<unknown>,
): Promise<number> {
  const counts: number[] = [];
  for (let begin = await readSoFar(client); counts.length < 2; ) {
    const store = await openStoreIn(url);
    await work(store);
    await store.close();
    const end = await readSoFar(client);
    counts.push(end - begin);
    begin = end;
  }
  return Math.min(...counts);
}

/** A session has reported all that it read when it has ended. */
async function readSoFar(client: pg.Client): Promise<number> {
  for (;;) {
    const { rows } = await client.query(
      `SELECT (
         SELECT count(*)::int
         FROM pg_stat_activity
         WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
       ) AS others, (
         SELECT sum(idx_tup_read)::int FROM pg_stat_user_indexes
       ) + (
         SELECT sum(seq_tup_read)::int FROM pg_stat_user_tables WHERE relname IN ('plants', 'events', 'deliveries', 'attempts')
       ) AS read`,
    );
    if (rows[0].others === 0) return rows[0].read;
  }
}
