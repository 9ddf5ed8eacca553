import type { Caller } from '../../../idempotency/port.ts';
import type { PlantId } from '../../../plants/plant.ts';
import { USER_GONE } from '../../write-outcomes.ts';
import { statement } from '../engine/database.ts';
import type { Batched } from '../engine/writer.ts';

type Delete = { owner: number; id: PlantId; caller: Caller | undefined };

export const deletes: Batched<Delete> = {
  users: (commands) => commands.flatMap(({ owner, caller }) => [owner, caller?.user ?? owner]),
  bind: (commands) => ({
    statement: DELETE,
    values: [
      JSON.stringify(
        commands.map(({ owner, id, caller }, n) => ({ n, owner, id: `${id}`, caller: caller?.user })),
      ),
    ],
  }),
  outcomes([row]) {
    // The statement returns one row of this form.
    const { outcomes } = row as unknown as { outcomes: [refusal: string | null, isDeleted: boolean][] };
    return outcomes.map(([refusal, isDeleted]) => refusal ?? isDeleted);
  },
};

const DELETE = statement`WITH input AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset($1) AS i(n int, owner int8, id int8, caller int8)
    ORDER BY owner, id
  ), judged AS MATERIALIZED (
    SELECT i.*, CASE WHEN i.caller IS NOT NULL AND u.id IS NULL THEN '${USER_GONE}' END AS refusal
    FROM input i
    LEFT JOIN users u ON u.id = i.caller AND u.disabled_at IS NULL AND u.deleted_at IS NULL
  ), removed AS (
    DELETE FROM plants p
    USING judged j
    WHERE p.owner = j.owner AND p.id = j.id AND j.refusal IS NULL
    RETURNING p.owner, p.id
  ), made AS MATERIALIZED (
    SELECT DISTINCT ON (j.owner, j.id) j.n, j.owner
    FROM judged j
    JOIN removed r ON r.owner = j.owner AND r.id = j.id
    WHERE j.refusal IS NULL
    ORDER BY j.owner, j.id, j.n
  ), counted AS (
    UPDATE plant_counts c
    SET plants = c.plants - m.plants
    FROM (SELECT owner, count(*) AS plants FROM made GROUP BY owner ORDER BY owner) m
    WHERE c.owner = m.owner
  )
  SELECT json_agg(json_build_array(j.refusal, m.n IS NOT NULL) ORDER BY j.n) AS outcomes
  FROM judged j
  LEFT JOIN made m ON m.n = j.n`;
