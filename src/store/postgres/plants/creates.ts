import { foldName, LAST_ASSIGNED_ID } from '../../../plants/plant.ts';
import type { WriteRules } from '../../store.ts';
import { KEY_USED, USER_GONE } from '../../write-outcomes.ts';
import { type Row, type Statement, statement } from '../engine/database.ts';
import { TOUCH_USERS } from '../engine/locks.ts';
import type { Batched } from '../engine/writer.ts';
import { ASSIGNED, HEEDS_COUNTERS, stepOver } from './assigned-ids.ts';
import { ANNOUNCED, announce, type Create, type CreateResult, EFFECTS } from './create-effects.ts';
import { removeOver, requestOf } from './idempotency.ts';
import { arePlain, bindPlain, plainOutcomes } from './plain-creates.ts';

/** Adds the plants of a batch with their events and deliveries in one statement. */
export function creates({ deliveryDelayMs, maxPlantsPerUser }: WriteRules): Batched<Create> {
  const isLimited = maxPlantsPerUser !== undefined;
  const statement = isLimited ? CREATE_LIMITED : CREATE;
  const isPlain = (commands: readonly Create[]) => !isLimited && arePlain(commands);

  return {
    users: (commands) => commands.flatMap(({ plant, caller }) => [plant.owner, caller?.user ?? plant.owner]),
    locksUsers: isPlain,
    isLate: ([row]) => row?.is_late === true,
    before(commands, isRetry) {
      const keyed = commands.flatMap(({ caller }) => caller?.once ?? []);
      const assigns = commands.some(({ plant }) => plant.id === undefined);
      const owners = [...new Set(commands.map(({ plant }) => plant.owner))];
      return [
        ...(isLimited ? [{ statement: COUNT_PLANTS, values: [owners, maxPlantsPerUser] }] : []),
        ...(assigns && isRetry ? [stepOver(commands)] : []),
        ...(keyed.length > 0 ? [removeOver(keyed)] : []),
      ];
    },
    bind(commands) {
      if (isPlain(commands)) return bindPlain(commands, deliveryDelayMs);
      const input = commands.map((command, n) => inputOf(command, n, deliveryDelayMs));
      return { statement, values: [JSON.stringify(input), ...(isLimited ? [maxPlantsPerUser] : [])] };
    },
    outcomes(rows, commands, announced) {
      // Each of the statements returns one row.
      const row = rows[0] as Row;
      if (isPlain(commands)) return plainOutcomes(row, commands, announced);
      announce(announced, row);
      // The statement returns an array of this form.
      const outcomes = row.outcomes as [refusal: CreateResult | 'full', made: string | null][];
      return outcomes.map(([refusal, made]): CreateResult => {
        if (made !== null) return BigInt(made);
        return refusal === 'full' ? { full: Number(maxPlantsPerUser) } : refusal;
      });
    },
  };
}

function inputOf({ plant: { id, ...plant }, caller }: Create, n: number, delayMs: number) {
  const input = {
    ...plant,
    n,
    wanted: id?.toString(),
    folded: foldName(plant.name),
    due: plant.at + delayMs,
    caller: caller?.user,
  };
  const once = caller?.once;
  if (!once) return input;
  const { fingerprint, expiresAt, answer } = once;
  return { ...input, ...answer, request: requestOf(once), fingerprint, expiresAt };
}

/** Added to a count that is only a lower bound, so that the owner has no room. */
const AT_LEAST = 2 ** 52;

/**
 * Starts counting the plants of owners; from then on every create and delete updates the count. All writes wait for it,
 * so it stops after twice the limit, and is repeated once that many deletes may have made room.
 */
const COUNT_PLANTS = statement`WITH uncounted AS MATERIALIZED (
    SELECT u.id AS owner
    FROM users u
    LEFT JOIN plant_counts c ON c.owner = u.id
    WHERE u.id = ANY($1::int8[])
      AND (c.plants IS NULL OR c.plants >= ${AT_LEAST} AND c.plants < ${AT_LEAST} + $2::int8)
  ), touched AS (
    ${TOUCH_USERS('SELECT owner FROM uncounted')}
  )
  INSERT INTO plant_counts (owner, plants)
  SELECT u.owner, n.plants + CASE WHEN n.plants > 2 * $2::int8 THEN ${AT_LEAST} ELSE 0 END
  FROM uncounted u
  CROSS JOIN LATERAL (
    SELECT count(*) AS plants
    FROM (
      SELECT 1
      FROM plants
      WHERE owner = u.owner
      LIMIT 2 * $2::int8 + 1
    ) p
  ) n
  ON CONFLICT (owner) DO UPDATE SET plants = excluded.plants`;

/** The commands, each with the reason if it is refused. */
const JUDGED = `input AS MATERIALIZED (
      SELECT *
      FROM json_to_recordset($1) AS i(
        n int, owner int8, wanted int8, name text, folded text, tag text, event text, at int8, trace text, due int8, caller int8,
        request text, fingerprint text, status int, location text, "appendsId" boolean, body text,
        "expiresAt" int8
      )
    ), people AS MATERIALIZED (
      SELECT id, disabled_at IS NULL AS is_active, ${HEEDS_COUNTERS}
      FROM users
      WHERE id IN (SELECT owner FROM input UNION SELECT caller FROM input WHERE caller IS NOT NULL)
        AND deleted_at IS NULL
    ), judged AS MATERIALIZED (
      SELECT i.*, CASE
          WHEN i.caller IS NOT NULL AND NOT EXISTS (SELECT 1 FROM people c WHERE c.id = i.caller AND c.is_active)
            OR NOT EXISTS (SELECT 1 FROM people o WHERE o.id = i.owner)
            THEN '${USER_GONE}'
          WHEN i.request IS NOT NULL
            AND EXISTS (SELECT 1 FROM idempotency k WHERE k.user_id = i.caller AND k.request = i.request)
            THEN '${KEY_USED}'
        END AS refusal
      FROM input i
    )`;

const ADMITTED = `admitted AS (
      SELECT j.*, true AS is_new, true AS has_room
      FROM judged j
      WHERE refusal IS NULL
    )`;

/** As many creates as there is room for; a refused create does not free its id for the others in the batch. */
const ADMITTED_LIMITED = `ranked AS MATERIALIZED (
      SELECT j.*, wanted IS NULL OR row_number() OVER (PARTITION BY owner, wanted ORDER BY n) = 1
          AND NOT EXISTS (SELECT 1 FROM plants p WHERE p.owner = j.owner AND p.id = j.wanted) AS is_new
      FROM judged j
      WHERE refusal IS NULL
    ), admitted AS (
      SELECT r.*, count(*) FILTER (WHERE is_new) OVER (PARTITION BY owner ORDER BY n)
          <= $2::int8 - (SELECT c.plants FROM plant_counts c WHERE c.owner = r.owner) AS has_room
      FROM ranked r
    )`;

/** The last create without an id gets the counter's new value, the one before it the id below, and so on. */
const IDENTIFIED = `numbered AS MATERIALIZED (
      SELECT a.*, wanted IS NULL AND has_room AS is_counted,
        row_number() OVER (PARTITION BY owner, wanted IS NULL AND has_room ORDER BY n DESC) - 1 AS behind
      FROM admitted a
    ), counts AS (
      SELECT owner, count(*) AS count
      FROM numbered
      WHERE is_counted
      GROUP BY owner
    ), ${ASSIGNED('SELECT owner, count FROM counts ORDER BY owner')}, identified AS MATERIALIZED (
      SELECT m.*, CASE
          WHEN wanted IS NOT NULL THEN wanted
          WHEN s.last - behind <= ${LAST_ASSIGNED_ID} THEN s.last - behind
        END AS id
      FROM numbered m
      LEFT JOIN assigned s ON is_counted AND s.owner = m.owner
    )`;

/** Why a create was refused: its id may be taken, too. */
const FULL = `CASE WHEN NOT a.has_room AND (a.is_new OR NOT EXISTS (
          SELECT 1 FROM plants p WHERE p.owner = a.owner AND p.id = a.id
        ) AND NOT EXISTS (
          SELECT 1 FROM made f WHERE f.owner = a.owner AND f.id = a.id
        )) THEN 'full' END`;

/** A plant whose id the client chose may exist; one with an assigned id must not. */
const MADE = `chosen AS (
      INSERT INTO plants (owner, id, name, folded, tag, created_at)
      SELECT owner, id, name, folded, tag, at
      FROM identified
      WHERE wanted IS NOT NULL AND is_new AND has_room
      ORDER BY owner, id, n
      ON CONFLICT DO NOTHING
      RETURNING owner, id
    ), made AS MATERIALIZED (
      (
        SELECT DISTINCT ON (i.owner, i.id) i.*
        FROM identified i
        JOIN chosen c ON c.owner = i.owner AND c.id = i.id
        WHERE i.wanted IS NOT NULL
        ORDER BY i.owner, i.id, i.n
      ) UNION ALL (
        SELECT *
        FROM identified
        WHERE wanted IS NULL AND id IS NOT NULL
      )
    ), created AS (
      INSERT INTO plants (owner, id, name, folded, tag, created_at)
      SELECT owner, id, name, folded, tag, at
      FROM made
      WHERE wanted IS NULL
      ORDER BY owner, id
    )`;

/** Only this statement knows the id that it assigns: the location of a plant is completed here. */
const KEPT = `kept AS (
      INSERT INTO idempotency (user_id, request, fingerprint, status, location, body, expires_at)
      SELECT caller, request, fingerprint, status,
        CASE WHEN "appendsId" THEN location || id ELSE location END, body, "expiresAt"
      FROM made
      WHERE request IS NOT NULL
      ORDER BY caller, request
    )`;

const CREATE = createWith(ADMITTED, 'NULL');
const CREATE_LIMITED = createWith(ADMITTED_LIMITED, FULL);

function createWith(admitted: string, full: string): Statement {
  return statement`WITH ${[JUDGED, admitted, IDENTIFIED, MADE, EFFECTS, KEPT].join(', ')}
    SELECT (
      SELECT json_agg(json_build_array(
          coalesce(j.refusal, ${full}, CASE WHEN a.id IS NULL THEN 'spent' ELSE 'taken' END), m.id::text
        ) ORDER BY j.n)
      FROM judged j
      LEFT JOIN identified a ON a.n = j.n
      LEFT JOIN made m ON m.n = j.n
    ) AS outcomes, ${ANNOUNCED}`;
}
