import { DELIVERIES, EVENTS, PLANTS, type Stored, toStored } from '../../crash/stored.ts';
import { queryOnce } from '../servers/servers.ts';

/** Reads a store's content from its database, while nobody writes. */
export async function readDatabase(url: string): Promise<Stored> {
  return toStored({
    plants: await queryOnce(url, PLANTS),
    events: await queryOnce(url, EVENTS),
    deliveries: await queryOnce(url, DELIVERIES),
  });
}
