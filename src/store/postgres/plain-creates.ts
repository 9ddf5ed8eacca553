import { MAX_ID } from '../../plants/plant.ts';
import { USER_GONE } from '../once.ts';
import type { Announced } from './announced.ts';
import { type Create, type Created, NO_ID_ABOVE } from './create-command.ts';
import { announceLanes, EFFECTS, LANES, type LaneRow } from './create-effects.ts';
import type { Bound, Row, Statement } from './database.ts';

/**
 * Creates as nearly all are: the store chooses the ids, nobody gives a key, and each is by the owner. The statement for
 * any creates takes twice the time of the server for the same.
 */
export function arePlain(commands: readonly Create[]): boolean {
  return commands.every(
    ({ plant, caller }) =>
      plant.id === undefined && caller?.user === plant.owner && caller.once === undefined,
  );
}

/** @param delayMs how long after its event a delivery is due for the first time */
export function bindPlain(commands: readonly Create[], delayMs: number): Bound {
  const input = commands.map(({ plant: { owner, name, tag, event, at, trace } }, n) => {
    return { n, owner, name, tag, event, at, trace };
  });
  return { statement: CREATE_PLAIN, values: [JSON.stringify(input), delayMs] };
}

type PlainRow = {
  owners: [id: number, isActive: boolean, highest: string][] | null;
  lanes: LaneRow[] | null;
};

/** What became of each. The ids of an owner follow each other in the order of the commands. */
export function plainOutcomes(row: Row, commands: readonly Create[], announced: Announced): Created[] {
  // The statement has one row of this form.
  const { owners, lanes } = row as PlainRow;
  announceLanes(announced, lanes);
  const last = new Map<number, bigint>();
  for (const [id, isActive, highest] of owners ?? []) if (isActive) last.set(id, BigInt(highest));
  announced.owners.push(...last.keys());
  return commands.map(({ plant: { owner } }) => {
    const before = last.get(owner);
    if (before === undefined) return USER_GONE;
    if (before === MAX_ID) return NO_ID_ABOVE;
    last.set(owner, before + 1n);
    return before + 1n;
  });
}

/** When another replica writes what is above the highest meanwhile, it fails with `UNIQUE_VIOLATION`. */
const CREATE_PLAIN: Statement = {
  name: 'plants-create-plain',
  text: `WITH input AS MATERIALIZED (
      SELECT *
      FROM json_to_recordset($1) AS i(n int, owner int8, name text, tag text, event text, at int8, trace text)
    ), owners AS MATERIALIZED (
      SELECT id, disabled_at IS NULL AS is_active,
        greatest(0, (SELECT max(p.id) FROM plants p WHERE p.owner = u.id)) AS highest
      FROM users u
      WHERE id IN (SELECT owner FROM input) AND deleted_at IS NULL
      ORDER BY id
      FOR SHARE
    ), numbered AS (
      SELECT i.*, o.highest, row_number() OVER (PARTITION BY i.owner ORDER BY i.n) AS turn
      FROM input i
      JOIN owners o ON o.id = i.owner AND o.is_active
    ), made AS MATERIALIZED (
      SELECT n.*, highest + turn AS id, at + $2::int8 AS due
      FROM numbered n
      WHERE highest <= 9223372036854775807 - turn
    ), created AS (
      INSERT INTO plants (owner, id, name, tag, created_at)
      SELECT owner, id, name, tag, at
      FROM made
    ), ${EFFECTS}
    SELECT (
      SELECT json_agg(json_build_array(id, is_active, highest::text))
      FROM owners
    ) AS owners, ${LANES} AS lanes`,
};
