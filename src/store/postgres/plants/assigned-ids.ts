import { LAST_ASSIGNED_ID } from '../../../plants/plant.ts';
import { type Bound, statement } from '../engine/database.ts';
import type { Create } from './create-effects.ts';

/** The ids that the store assigns, from a counter for each owner. */

/** Tells the trigger on `plants` that a statement respects the counters: replicas of the previous version do not. */
export const HEEDS_COUNTERS = `set_config('plant_store.counts', 'on', true)`;

/**
 * A part of a WITH that advances counters, each by a number, and returns them. If a plant already has one of these ids,
 * adding it fails with UNIQUE_VIOLATION, and the retry begins with `stepOver`.
 */
export const ASSIGNED = (ownersAndNumbers: string) => `assigned AS MATERIALIZED (
      INSERT INTO assigned_ids AS a (owner, last)
      ${ownersAndNumbers}
      ON CONFLICT (owner) DO UPDATE
      SET last = excluded.last
        + greatest(a.last, (SELECT w.last FROM ids_without_counter w WHERE w.owner = a.owner))
      RETURNING owner, last
    )`;

/** Moves counters to where enough consecutive ids are free. Nobody else may add plants of these owners meanwhile. */
export function stepOver(commands: readonly Create[]): Bound {
  const needed = new Map<number, number>();
  for (const { plant } of commands)
    if (plant.id === undefined) needed.set(plant.owner, 1 + (needed.get(plant.owner) ?? 0));
  const input = [...needed].map(([owner, count]) => ({ owner, count }));
  const wanted = commands.flatMap(({ plant: { owner, id } }) =>
    id === undefined ? [] : { owner, id: `${id}` },
  );
  return { statement: STEP_OVER, values: [JSON.stringify(input), JSON.stringify(wanted)] };
}

/** Whether the ids after this one are free. */
const ARE_FREE_BEHIND = (id: string) => `NOT EXISTS (
        SELECT 1 FROM plants p WHERE p.owner = n.owner AND p.id > ${id} AND p.id <= ${id} + n.count
      ) AND NOT EXISTS (
        SELECT 1 FROM wanted w WHERE w.owner = n.owner AND w.id > ${id} AND w.id <= ${id} + n.count
      )`;

/**
 * The cost is independent of the number of taken ids. Near the counter it finds the first free ids; farther away
 * strides double in length and end at random, so only a client that takes half of all ids up to there can block most of
 * them.
 */
const STEP_OVER = statement`WITH wanted AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset($2) AS w(owner int8, id int8)
  ), needed AS MATERIALIZED (
    SELECT i.owner, i.count, greatest(0, a.last, o.last) AS last
    FROM json_to_recordset($1) AS i(owner int8, count int8)
    LEFT JOIN assigned_ids a ON a.owner = i.owner
    LEFT JOIN ids_without_counter o ON o.owner = i.owner
  )
  INSERT INTO assigned_ids (owner, last)
  SELECT n.owner, coalesce((
      SELECT c.id
      FROM plants c
      WHERE c.owner = n.owner AND c.id > n.last AND c.id <= n.last + 128 AND ${ARE_FREE_BEHIND('c.id')}
      ORDER BY c.id
      LIMIT 1
    ), (
      SELECT min(c.id)
      FROM (
        SELECT w.id
        FROM wanted w
        WHERE w.owner = n.owner AND w.id > n.last
        UNION ALL
        SELECT (SELECT max(p.id) FROM plants p WHERE p.owner = n.owner AND p.id <= s.stop)
        FROM (
          SELECT n.last + ((1::int8 << stride) * (1 + random()))::int8 AS stop
          FROM generate_series(7, 52) stride
          OFFSET 0
        ) s
      ) c
      WHERE c.id > n.last AND ${ARE_FREE_BEHIND('c.id')}
    ), ${LAST_ASSIGNED_ID})
  FROM needed n
  WHERE NOT (${ARE_FREE_BEHIND('n.last')})
  ORDER BY n.owner
  ON CONFLICT (owner) DO UPDATE SET last = excluded.last`;
