import { playCorpus } from './corpus.ts';

playCorpus('the embedded store', async () => ({ DATABASE_URL: '' }));
