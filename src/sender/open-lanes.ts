import type { LaneParts, LaneSource, Lanes } from '../store/lane-threads.ts';

/** Each store is loaded on demand. */
export async function openLanes(source: LaneSource, parts: LaneParts): Promise<Lanes> {
  if (source.kind === 'sqlite') {
    const { openEmbeddedLanes } = await import('../store/sqlite/deliveries/lane-client.ts');
    return openEmbeddedLanes(source, parts);
  }
  const { openDatabaseLanes } = await import('../store/postgres/deliveries/lane-client.ts');
  return openDatabaseLanes(source, parts);
}
