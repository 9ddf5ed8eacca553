import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { type FuzzedStore, startGround } from './ground.ts';
import { pages } from './pages.ts';
import { sequencesOf } from './plays/sequences.ts';
import type { Property } from './property.ts';
import { requestsOf } from './requests.ts';

export type Plan = {
  /** The minimum number of answers to check. */
  cases: number;
  /** Determines the requests; their timing depends on the machine. */
  seed: number;
  /** The one property to run: an operation, `pages`, or sequences; by default all. */
  only?: string | undefined;
  /** The embedded store by default. */
  store?: FuzzedStore;
  /** Called now and then with the number of checked answers. */
  onProgress?(checked: number): void;
};

/** `failures` are texts for people, each with the smallest request found that shows it. */
export type Report = { checked: number; failures: string[] };

/** The share of single requests; the rest are sequences. */
const SINGLE = 0.6;

export async function fuzz({ cases, seed, only, store = 'sqlite', onProgress }: Plan): Promise<Report> {
  const ground = await startGround(store);
  const progress = setInterval(() => onProgress?.(ground.checked()), PROGRESS_MS);
  const isChosen = (name: string) => only === undefined || only === name;
  try {
    const operations = ground.operations.filter(({ id }) => isChosen(id));
    const chains = SEQUENCES.filter(isChosen);
    const singles = only === undefined ? SINGLE * cases : cases;
    const others = ['pages'].filter(isChosen);
    const share = Math.ceil(singles / Math.max(1, operations.length + others.length));
    const plays = [
      ...operations.map((operation) => async () => run(await requestsOf(ground, operation), seed, share)),
      ...others.map(() => () => run(pages(ground), seed, share)),
      ...chains.map(
        (name) => () => runUntil(() => ground.checked() >= cases, sequencesOf(ground, name), seed),
      ),
    ].values();
    const failures: string[] = [];
    const player = async () => {
      for (const play of plays) failures.push(...(await play()));
    };
    await Promise.all(Array.from({ length: PLAYERS }, player));
    return { checked: ground.checked(), failures };
  } finally {
    clearInterval(progress);
    await ground.stop();
  }
}

/** One's waiting is time for another. Of more, on a busy machine, writes would wait longer than the service lets them. */
const PLAYERS = 8;
/** Each has its own seed. */
const SEQUENCES = ['sequences-1', 'sequences-2', 'sequences-3', 'sequences-4'];
/** Sequences between two checks whether there are enough. */
const ROUND = 5;

const PROGRESS_MS = 5_000;

/** Runs a property this often, or until it fails. */
async function run<Value>(property: Property<Value>, seed: number, runs: number): Promise<string[]> {
  const found = await check(property, seedOf(property.name, seed), runs);
  return found.length > 0 ? found : end(property);
}

async function runUntil<Value>(
  isEnough: () => boolean,
  property: Property<Value>,
  seed: number,
): Promise<string[]> {
  for (let round = 0; ; round++) {
    const found = await check(property, seedOf(`${property.name} ${round}`, seed), ROUND);
    if (found.length > 0) return found;
    if (isEnough()) return end(property);
  }
}

/** Time limit for shrinking a failure: enough for a reproducible one, an end for others. */
const SMALLER_MS = 5_000;

async function check<Value>(
  { name, arbitrary, check }: Property<Value>,
  seed: number,
  numRuns: number,
): Promise<string[]> {
  let end = Infinity;
  const bounded = async (value: Value): Promise<void> => {
    if (performance.now() > end) return;
    try {
      await check(value);
    } catch (error) {
      end = Math.min(end, performance.now() + SMALLER_MS);
      throw error;
    }
  };
  const details = await fc.check(fc.asyncProperty(arbitrary, bounded), { seed, numRuns });
  return details.failed ? [failureOf(name, details)] : [];
}

async function end({ name, end }: Pick<Property<unknown>, 'name' | 'end'>): Promise<string[]> {
  try {
    await end();
    return [];
  } catch (error) {
    return [`${name}: ${messageOf(error)}`];
  }
}

function seedOf(name: string, seed: number): number {
  return crc32(`${seed} ${name}`) | 0;
}

type Failed = { numRuns: number; numShrinks: number; errorInstance: unknown };

function failureOf(name: string, { numRuns, numShrinks, errorInstance }: Failed): string {
  return `${name}, after ${numRuns} runs and ${numShrinks} steps to make it smaller:\n${messageOf(errorInstance)}`;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === 'Mismatch' ? error.message : (error.stack ?? error.message);
}
