import type { Server } from '../servers/server.ts';
import { askFor } from './client.ts';

/** Concurrent creates. */
const CLIENTS = 16;

/** Creates a plant for each body (JSON text), several at a time. Throws when one is refused. */
export async function createAll(service: Server, bodies: Iterable<string>): Promise<void> {
  const left = Iterator.from(bodies);
  const client = async () => {
    for (const body of left) await askFor(`${service.url}/plants`, { method: 'POST', body });
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}
