import { database as limits } from '../../../limits.ts';

/**
 * Settings for every statement of the service. Tables are read by key: a plan cached while they were small would scan
 * them, and all their partitions, once they are large. Statements that lock rows also rely on this for the order of their
 * locks: a nested loop keeps that of its input.
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

/** The session of a machine that is lost ends soon, with its locks; by default the server keeps it for two hours. */
export const PROBES = {
  tcp_keepalives_idle: limits.lostSessionMs / 2_000,
  tcp_keepalives_interval: limits.lostSessionMs / 6_000,
  tcp_keepalives_count: 3,
  tcp_user_timeout: limits.lostSessionMs,
};

const OWN_SETTINGS = { ...SETTINGS, default_transaction_isolation: 'read\\ committed', ...PROBES };

/** The URL for a session with settings, which a pooler would refuse. They follow the options that the URL has. */
export function sessionUrl(connectionString: string, settings: object = OWN_SETTINGS): string {
  const url = new URL(connectionString);
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const given = url.searchParams.get('options');
  url.searchParams.set('options', [...(given === null ? [] : [given]), ...options].join(' '));
  return url.href;
}

export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/** For a transaction in a pooled session: several statements in one message (the simple protocol). */
export const BEGIN_WITH_SETTINGS = [
  BEGIN,
  ...Object.entries(SETTINGS).map(([name, value]) => `SET LOCAL ${name} = '${value}'`),
].join('; ');

/** Lifts the role's timeouts, for work that takes as long as it takes. Servers before 17 do not have all of them. */
const liftTimeouts = (isLocal: boolean) => `SELECT set_config(name, '0', ${isLocal})
  FROM pg_settings
  WHERE name IN (
    'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout',
    'idle_session_timeout'
  )`;

export const LIFT_TIMEOUTS = liftTimeouts(false);

/** For a transaction of such work, also in a pooled session. */
export const BEGIN_WITHOUT_TIMEOUTS = `${BEGIN}; ${liftTimeouts(true)}`;
