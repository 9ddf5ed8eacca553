import { succeeded } from '../harness/answer.ts';
import type { Server } from './server.ts';

export type Listed = { id: number; name: string };

/** Every plant of admin, by id. */
export async function listPlants(server: Server): Promise<Listed[]> {
  const answer = await server.request('GET', '/plants?fields=id,name');
  // The answer holds the members that were asked for.
  return succeeded(answer, 200) as Listed[];
}

/** A statement that adds plants of admin with the ids 1 to `count`, their members as long as may be. */
export function manyPlants(count: number): string {
  return `INSERT INTO plants (owner, id, name, tag, created_at)
    WITH RECURSIVE number (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM number WHERE id < ${count})
    SELECT users.id, number.id, format('%0255d', number.id), format('%0255d', number.id), 0
    FROM number, users
    WHERE users.name = 'admin'`;
}

/** The bytes of a list of so many of them. */
export function bytesOfMany(count: number): number {
  const each = JSON.stringify({ name: '0'.repeat(255), tag: '0'.repeat(255) }).length;
  return count * (each + 1) + 1;
}
