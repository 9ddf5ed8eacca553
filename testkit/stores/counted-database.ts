import pg from 'pg';
import type { PostgresStore } from '../../src/store/postgres/store.ts';
import { makeStoreDatabase, openStoreIn } from './postgres.ts';

type Work = (store: PostgresStore) => Promise<unknown>;

/** A database with a store, filled by this SQL, that tells how many rows the store reads. */
export async function countedDatabase(sql: string) {
  const database = await makeStoreDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(sql);
  await client.query('VACUUM ANALYZE');

  async function withStore(work: Work): Promise<void> {
    const store = await openStoreIn(database.url);
    await work(store);
    await store.close();
  }

  return {
    client,
    withStore,
    /** How many rows of tables and indexes: the fewer of two times, as the server may read for itself meanwhile. */
    async rowsReadBy(work: Work): Promise<number> {
      const counts: number[] = [];
      for (let begin = await readSoFar(client); counts.length < 2; ) {
        await withStore(work);
        const end = await readSoFar(client);
        counts.push(end - begin);
        begin = end;
      }
      return Math.min(...counts);
    },
    async drop(): Promise<void> {
      await client.end();
      await database.drop();
    },
  };
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
