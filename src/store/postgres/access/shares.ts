import type { AccessStore } from '../../../access/port.ts';
import { SHARES, toShare } from '../../rows.ts';
import { isVisibleTo } from '../../visible-owners.ts';
import { type Database, type Query, type Row, statement } from '../engine/database.ts';
import { TOUCH_USERS } from '../engine/locks.ts';
import type { Run } from '../engine/writer.ts';
import type { Announced } from '../replicas/hints.ts';

/**
 * Locks users against other writes of shares, so that the limits hold, and against batches (`lockUsers`), so that a
 * create runs entirely before or after.
 */
const LOCK_NAMED = statement`SELECT id, name
  FROM users
  WHERE name = ANY($1::text[]) AND deleted_at IS NULL
  ORDER BY id
  FOR NO KEY UPDATE`;

const STANDING = statement`SELECT EXISTS (SELECT 1 FROM shares WHERE owner = $1 AND viewer = $2) AS is_there,
    (SELECT count(*) FROM shares WHERE owner = $1) AS of_owner,
    (SELECT count(*) FROM shares WHERE viewer = $2) AS of_viewer`;

const INSERT = statement`INSERT INTO shares (owner, viewer, created_at, removed_tx, removed_event)
  SELECT $1, $2, $3, r.tx, r.event
  FROM (SELECT 1) AS one
  LEFT JOIN removed_events r ON r.owner = $1`;

const TOUCH = statement`${TOUCH_USERS('$1')}`;

const REMOVE = statement`DELETE FROM shares
  WHERE owner = $1 AND viewer = $2
  RETURNING owner, viewer`;

const REMOVE_OF = statement`DELETE FROM shares
  WHERE owner = $1 OR viewer = $1
  RETURNING owner, viewer`;

export async function removeSharesOf(id: number, query: Query, announced: Announced): Promise<void> {
  await removed(await query(REMOVE_OF, [id]), query, announced);
}

async function lockNamed(query: Query, ...names: string[]): Promise<(number | undefined)[]> {
  const rows = await query(LOCK_NAMED, [names]);
  const ids = new Map(rows.map(({ id, name }) => [name, Number(id)]));
  return names.map((name) => ids.get(name));
}

/** Drops the viewer's deliveries of the owner's events so far, slice by slice. */
const WITHDRAW = statement`INSERT INTO withdrawals (subscriber, webhook, owner, next, through)
  SELECT w.owner, w.id, s.owner, '', e.id
  FROM json_to_recordset($1) AS s(owner int8, viewer int8)
  JOIN webhooks w ON w.owner = s.viewer AND w.status <> 'deleted'
  CROSS JOIN LATERAL (
    SELECT id
    FROM events
    WHERE owner = s.owner
    ORDER BY id DESC
    LIMIT 1
  ) e
  ORDER BY w.id, s.owner
  ON CONFLICT (webhook, owner) DO UPDATE
  SET next = '', through = excluded.through`;

const WEBHOOKS_OF = statement`SELECT id
  FROM webhooks
  WHERE owner = ANY ($1::int8[]) AND status = 'enabled'`;

async function removed(shares: readonly Row[], query: Query, announced: Announced): Promise<boolean> {
  if (shares.length === 0) return false;
  await query(WITHDRAW, [JSON.stringify(shares)]);
  const viewers = [...new Set(shares.map(({ viewer }) => viewer))];
  for (const { id } of await query(WEBHOOKS_OF, [viewers])) announced.changed.push(String(id));
  announced.access = true;
  return true;
}

const ALL = statement`${SHARES}`;

export function shareStore({ read }: Pick<Database, 'read'>, run: Run) {
  return {
    shares: async () => (await read(ALL)).map(toShare),
    addShare: ({ owner, viewer, at }, most) =>
      run(async (query, announced) => {
        if (owner === viewer) return 'same user';
        const [from, to] = await lockNamed(query, owner, viewer);
        if (from === undefined) return 'no owner';
        if (to === undefined) return 'no viewer';
        const [standing] = await query(STANDING, [from, to]);
        if (standing?.is_there === true) return 'shared before';
        if (Number(standing?.of_owner) >= most) return 'owner full';
        if (Number(standing?.of_viewer) >= most) return 'viewer full';
        await query(TOUCH, [from]);
        await query(INSERT, [from, to, at]);
        announced.access = true;
        return 'shared';
      }),
    removeShare: ({ owner, viewer }) =>
      run(async (query, announced) => {
        const [from, to] = await lockNamed(query, owner, viewer);
        if (from === undefined || to === undefined) return false;
        await query(TOUCH, [from]);
        return removed(await query(REMOVE, [from, to]), query, announced);
      }),
  } satisfies Partial<AccessStore>;
}

export const IS_VISIBLE = isVisibleTo('d.subscriber');
