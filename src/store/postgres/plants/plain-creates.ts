import { foldName, LAST_ASSIGNED_ID } from '../../../plants/plant.ts';
import { USER_GONE } from '../../write-outcomes.ts';
import { type Bound, type Row, statement } from '../engine/database.ts';
import type { Announced } from '../replicas/hints.ts';
import { ASSIGNED, HEEDS_COUNTERS } from './assigned-ids.ts';
import { ANNOUNCED, announce, type Create, type CreateResult, EFFECTS } from './create-effects.ts';

/** Whether all creates are by the owner, without id or key. The general statement takes the server twice as long. */
export function arePlain(commands: readonly Create[]): boolean {
  return commands.every(
    ({ plant, caller }) =>
      plant.id === undefined && caller?.user === plant.owner && caller.once === undefined,
  );
}

/** @param delayMs the delay from an event to the first attempt of its deliveries */
export function bindPlain(commands: readonly Create[], delayMs: number): Bound {
  const counts = new Map<number, number>();
  const input = commands.toReversed().map(({ plant }) => {
    const behind = counts.get(plant.owner) ?? 0;
    counts.set(plant.owner, behind + 1);
    return { ...plant, behind, folded: foldName(plant.name) };
  });
  // With ascending ids, as the previous version adds them: in opposite orders both would wait for each other.
  input.reverse();
  const values = [JSON.stringify(input), delayMs, [...counts.keys()], [...counts.values()]];
  return { statement: CREATE_PLAIN, values };
}

/** The outcome of each command. The ids of an owner ascend in the order of the commands. */
export function plainOutcomes(row: Row, commands: readonly Create[], announced: Announced): CreateResult[] {
  announce(announced, row);
  // The statement returns the new counter of each active owner, or null.
  const assigned = (row.assigned as [owner: number, last: string][] | null) ?? [];
  const next = new Map(assigned.map(([owner, last]) => [owner, BigInt(last)]));
  const outcomes = commands.toReversed().map(({ plant: { owner } }): CreateResult => {
    const id = next.get(owner);
    if (id === undefined) return USER_GONE;
    next.set(owner, id - 1n);
    return id <= LAST_ASSIGNED_ID ? id : 'spent';
  });
  return outcomes.reverse();
}

/**
 * An owner's last create gets the counter's new value, the one before it the id below, and so on. A lock returns the
 * newest version of a user, and everything else is read as it was when the statement began: if the versions differ,
 * nothing is done.
 */
const CREATE_PLAIN = statement`WITH input AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset($1) AS i(
      behind int, owner int8, name text, folded text, tag text, event text, at int8, trace text
    )
  ), owners AS MATERIALIZED (
    SELECT u.id, u.xmin AS version, c.count, ${HEEDS_COUNTERS}
    FROM unnest($3::int8[], $4::int8[]) AS c(owner, count)
    JOIN users u ON u.id = c.owner AND u.disabled_at IS NULL AND u.deleted_at IS NULL
    ORDER BY u.id
    FOR NO KEY UPDATE OF u
  ), changed AS MATERIALIZED (
    SELECT 1
    FROM owners o
    JOIN users u ON u.id = o.id AND u.xmin <> o.version
  ), ${ASSIGNED(`SELECT id, count FROM owners WHERE NOT EXISTS (SELECT 1 FROM changed) ORDER BY id`)}, made AS MATERIALIZED (
    SELECT i.*, s.last - i.behind AS id, at + $2::int8 AS due
    FROM assigned s
    JOIN input i ON i.owner = s.owner AND s.last - i.behind <= ${LAST_ASSIGNED_ID}
  ), created AS (
    INSERT INTO plants (owner, id, name, folded, tag, created_at)
    SELECT owner, id, name, folded, tag, at
    FROM made
  ), ${EFFECTS}
  SELECT (
    SELECT json_agg(json_build_array(owner, last::text))
    FROM assigned
  ) AS assigned, ${ANNOUNCED}, EXISTS (SELECT 1 FROM changed) AS is_late`;
