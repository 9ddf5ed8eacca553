/** A statement that adds plants of admin with ids 1 to `count` and members of maximum length. */
export function manyPlants(count: number): string {
  return `INSERT INTO plants (owner, id, name, tag, created_at)
    WITH RECURSIVE number (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM number WHERE id < ${count})
    SELECT users.id, number.id, format('%0255d', number.id), format('%0255d', number.id), 0
    FROM number, users
    WHERE users.name = 'admin'`;
}
