/**
 * A statement that adds plants of admin with ids 1 to `count` and members of maximum length. Digits fold to themselves;
 * without folded names, the service would write these plants again during the test.
 */
export function manyPlants(count: number): string {
  return `INSERT INTO plants (owner, id, name, folded, tag, created_at)
    WITH RECURSIVE number (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM number WHERE id < ${count}),
      long (id, text) AS (SELECT id, format('%0255d', id) FROM number)
    SELECT users.id, long.id, text, text, text, 0
    FROM long, users
    WHERE users.name = 'admin'`;
}
