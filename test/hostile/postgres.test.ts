import { after } from 'node:test';
import { makeStoreDatabase, type TestDatabase } from '../../testkit/stores/postgres.ts';
import { playCorpus } from './corpus.ts';

let database: TestDatabase;

playCorpus('PostgreSQL', async () => {
  database = await makeStoreDatabase();
  return { DATABASE_URL: database.url };
});
// After the service, which stops in an earlier hook.
after(() => database.drop());
