import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../testkit/random/seeded.ts';
import type { Cluster } from './cluster.ts';
import { kinds } from './faults.ts';
import type { Database } from './servers.ts';

/** A fault that is over. Times are by `performance.now()`. */
export type Happened = { kind: string; target: string; begin: number; end: number };

export type Schedule = {
  seed: number;
  /** No fault begins after it. */
  seconds: number;
  /** The names of the kinds to choose from. */
  names: readonly string[];
  /** Whether faults may overlap, and follow before the cluster has recovered. */
  overlap: boolean;
  /** Called when a fault begins. */
  tell(what: string): void;
};

/** About as many as fit into a minute: so a hundred seeds in a row have each kind about equally often. */
const PER_SEED = 5;
const PAUSE_S = 4;
/** How often the next fault begins during the last. */
const OVERLAP_SHARE = 1 / 3;

/**
 * Begins faults until the time is up, and resolves when all have ended. The seed determines the faults; their targets
 * also depend on which server is the primary.
 */
export async function injectFaults(cluster: Cluster, schedule: Schedule): Promise<Happened[]> {
  const { seed, seconds, overlap, tell } = schedule;
  const random = seededRandom(seed);
  const happened: Happened[] = [];
  const running = new Set<Promise<void>>();
  const start = performance.now();
  let primary: Database = (await cluster.primary()) ?? 'pg1';
  for (const name of deck(schedule)) {
    if (!overlap) await cluster.untilWhole();
    await sleep(1_000 * (1 + random() * PAUSE_S));
    if (performance.now() - start > seconds * 1_000) break;
    primary = (await cluster.primary()) ?? primary;
    const kind = kinds[name];
    if (!kind) throw new Error(`There is no fault ${name}`);
    const [least, most] = kind.seconds;
    const begin = performance.now();
    const lastMs = 1_000 * (least + random() * (most - least));
    const { target, end } = kind.begin({ cluster, primary, random });
    tell(`seed ${seed}: ${name} (${target}), ${(lastMs / 1_000).toFixed(0)} s`);
    const over = sleep(lastMs).then(() => {
      end();
      happened.push({ kind: name, target, begin, end: performance.now() });
    });
    running.add(over);
    if (!overlap || random() >= OVERLAP_SHARE) await Promise.all(running);
  }
  await Promise.all(running);
  return happened;
}

/** All kinds shuffled, again and again; each seed continues where the one before it may have stopped. */
function* deck({ names, seed }: Schedule): Generator<string> {
  for (let at = seed * PER_SEED; ; at++) {
    const random = seededRandom(Math.floor(at / names.length));
    const shuffled = names.map((name) => ({ name, order: random() })).sort((a, b) => a.order - b.order);
    yield shuffled[at % names.length]?.name ?? '';
  }
}
