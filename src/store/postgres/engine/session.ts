import { database as limits } from '../../../limits.ts';

/**
 * What holds for every statement of the service. An abandoned one ends by itself. Tables are read by their keys: a plan
 * that was made while they were small, and is kept, would read them whole when they are large, and every partition of
 * them.
 */
const SETTINGS: Readonly<Record<string, string | number>> = {
  statement_timeout: limits.statementMs,
  lock_timeout: limits.lockMs,
  idle_in_transaction_session_timeout: limits.answerMs,
  client_min_messages: 'warning',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

/** For a session of the service's own, as a start-up parameter. */
export const SESSION_OPTIONS = Object.entries({
  ...SETTINGS,
  default_transaction_isolation: 'read\\ committed',
})
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');

export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/** For a transaction in a session that a pooler lends: several statements in one message (the simple protocol). */
export const BEGIN_WITH_SETTINGS = [
  BEGIN,
  ...Object.entries(SETTINGS).map(([name, value]) => `SET LOCAL ${name} = '${value}'`),
].join('; ');
