import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import type { Happened } from './schedule.ts';
import { REPLICAS, THIS_VERSION } from './servers.ts';

const PAUSE_S = { least: 5, more: 10 };

/** Replaces the version before on each replica, one after the other; the first migrates the schema. */
export async function updateReplicas(
  cluster: Cluster,
  random: () => number,
  tell: (what: string) => void,
): Promise<Happened[]> {
  const happened: Happened[] = [];
  for (const target of REPLICAS) {
    await sleep(1_000 * (PAUSE_S.least + random() * PAUSE_S.more));
    tell(`update ${target}`);
    const begin = performance.now();
    await cluster.update(target, THIS_VERSION);
    happened.push({ kind: 'update a replica', target, begin, end: performance.now() });
  }
  return happened;
}
