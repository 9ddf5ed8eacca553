import type { KeyStore, Once } from '../../../idempotency/port.ts';
import { bytesWith } from '../../batch.ts';
import { ifFound, toKeptRecord } from '../../rows.ts';
import { KEY_USED, USER_GONE } from '../../write-outcomes.ts';
import { type Database, statement } from '../engine/database.ts';
import { type Batched, batched, type Queues } from '../engine/writer.ts';
import { removeOver, requestOf } from './idempotency.ts';

const FIND = statement`SELECT fingerprint, status, location, body
  FROM idempotency
  WHERE user_id = $1 AND request = $2 AND expires_at > $3`;

/** Of several answers to one key the first stays, and the others are refused. */
const KEEP = statement`WITH input AS MATERIALIZED (
    SELECT i.*, u.id IS NOT NULL AS is_active
    FROM json_to_recordset($1) AS i(
      n int, user_id int8, request text, fingerprint text, status int, location text, body text, expires_at int8
    )
    LEFT JOIN users u ON u.id = i.user_id AND u.disabled_at IS NULL AND u.deleted_at IS NULL
  ), firsts AS MATERIALIZED (
    SELECT DISTINCT ON (user_id, request) *
    FROM input
    WHERE is_active
    ORDER BY user_id, request, n
  ), kept AS (
    INSERT INTO idempotency (user_id, request, fingerprint, status, location, body, expires_at)
    SELECT user_id, request, fingerprint, status, location, body, expires_at
    FROM firsts
    ORDER BY user_id, request
    ON CONFLICT DO NOTHING
    RETURNING user_id, request
  )
  SELECT i.is_active, k.request IS NOT NULL AS is_kept
  FROM input i
  LEFT JOIN firsts f ON f.n = i.n
  LEFT JOIN kept k ON k.user_id = f.user_id AND k.request = f.request
  ORDER BY i.n`;

/** Keeps the answers to requests that changed nothing: all of a batch in one statement. */
const answers: Batched<Once> = {
  users: (all) => all.map(({ user }) => user),
  before: (all) => [removeOver(all)],
  bind: (all) => ({ statement: KEEP, values: [JSON.stringify(all.map(inputOf))] }),
  outcomes: (rows) =>
    rows.map(({ is_active, is_kept }) =>
      is_kept === true ? true : is_active === true ? KEY_USED : USER_GONE,
    ),
};

function inputOf(once: Once, n: number) {
  const { user, fingerprint, expiresAt, answer } = once;
  return { n, user_id: user, request: requestOf(once), fingerprint, ...answer, expires_at: expiresAt };
}

export function keyStore({ read }: Pick<Database, 'read'>, { submit }: Queues): KeyStore {
  return {
    keptAnswer: async (request, now) =>
      ifFound((await read(FIND, [request.user, requestOf(request), now]))[0], toKeptRecord),
    async keepAnswer(once) {
      await submit(batched(answers, once), bytesWith(once.answer.body));
    },
  };
}
