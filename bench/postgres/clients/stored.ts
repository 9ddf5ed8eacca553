import { DELIVERIES, EVENTS, PLANTS, type Stored, toStored } from '../../crash/stored.ts';
import { queryOnce } from '../servers/servers.ts';

/** What the store in a database holds. Nobody may write meanwhile. */
export async function readDatabase(url: string): Promise<Stored> {
  return toStored({
    plants: await queryOnce(url, PLANTS),
    events: await queryOnce(url, EVENTS),
    deliveries: await queryOnce(url, DELIVERIES),
  });
}
