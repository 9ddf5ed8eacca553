import type { Bound, Statement } from './database.ts';

const BY_KEYS: Statement = {
  name: 'plan-by-keys',
  text: `SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
      set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`,
};

/**
 * In the transaction that begins with it, tables are read by their keys. A plan that was made while they were small,
 * and is kept, would read them whole when they are large, and every partition of them.
 */
export const BY_KEYS_ONLY: Bound = { statement: BY_KEYS, values: [] };
