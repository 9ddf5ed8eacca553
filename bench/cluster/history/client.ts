import { setTimeout as sleep } from 'node:timers/promises';
import type { Create, Page } from './history.ts';
import type { NewPlant, Requests } from './requests.ts';

/** What the clients of a run share: they compete for the same ids. */
export type ClientOptions = {
  requests: Requests;
  random: () => number;
  /** Begins each name and key. */
  run: string;
  hasViewer: boolean;
};

/** Below these, a 53-bit number cannot hold an id exactly; and each run has its own. */
const FIRST_CHOSEN = -(2n ** 53n) - 10_000n * BigInt(Date.now());
/** Creates of one id that follow each other, on average, and how far ids are apart that are used at one time. */
const REUSES = 3;
const SPREAD = 6;
/** How often a create with a key is repeated until it has an answer, and the longest pause before that. */
const TRIES = 25;
const PAUSE_MS = 1_000;
const WALK_TRIES = 5;
/** Of the newest plants, any may be deleted. */
const KNOWN = 500;

type ListOptions = { limit?: number; via?: number };

export function createClient({ requests, random, run, hasViewer }: ClientOptions) {
  let creates = 0;
  const made = new Set<string>();
  const known: string[] = [];
  const chance = (share: number) => random() < share;
  const list = createLists(requests, chance);
  const chosenId = () => String(FIRST_CHOSEN - BigInt(Math.floor(creates / REUSES + random() * SPREAD)));

  /** One request, or a few that belong together. */
  async function step(): Promise<void> {
    const which = random();
    if (which < 0.55) await create();
    else if (which < 0.8) await remove();
    else if (which < 0.88 && hasViewer) await list('viewer');
    else if (which < 0.92) await list('owner');
    else await list(hasViewer && chance(0.3) ? 'viewer' : 'owner', { limit: 2 + Math.floor(random() * 40) });
  }

  async function create(): Promise<void> {
    const name = `${run}${++creates}`;
    const plant: NewPlant = {
      name,
      ...(chance(0.5) ? { id: chosenId() } : {}),
      ...(chance(0.6) ? { tag: 'Kräuter' } : {}),
      ...(chance(0.5) ? { key: `${name}-key` } : {}),
    };
    const { created, via } = await (plant.key === undefined ? requests.create(plant) : createOnce(plant));
    if (created === undefined) return;
    made.add(name);
    known.push(created);
    if (known.length > KNOWN) known.shift();
    if (chance(0.2)) await list('owner', { via: requests.otherThan(via) });
  }

  /** Repeats a create, elsewhere and sometimes twice at once, until it is answered; and sometimes once more then. */
  async function createOnce(plant: NewPlant): Promise<Create> {
    if (chance(0.1)) await Promise.all([requests.create(plant), requests.create(plant)]);
    let answer = await requests.create(plant);
    for (let n = 1; n < TRIES && !isFinal(answer); n++) {
      await sleep(random() * Math.min(PAUSE_MS, n * 100));
      answer = await requests.create(plant, requests.otherThan(answer.via));
    }
    if (isFinal(answer) && chance(0.2)) await requests.create(plant, requests.otherThan(answer.via));
    if (isFinal(answer) && chance(0.1)) await requests.create({ ...plant, name: `${plant.name}-other` });
    return answer;
  }

  async function remove(): Promise<void> {
    const id = chance(0.5) ? chosenId() : known[Math.floor(random() * known.length)];
    if (id !== undefined) await requests.remove(id);
  }

  return { step, list, made: made as ReadonlySet<string> };
}

/** Whole lists and, with a limit, walks. A page that fails is read again. They return true at the end of the list. */
function createLists(requests: Requests, chance: (share: number) => boolean) {
  let walks = 0;
  return async function list(
    reader: Page['reader'],
    { limit, via }: ListOptions = {},
  ): Promise<true | undefined> {
    const isDescending = chance(0.3);
    const query = `?fields=id,name${isDescending ? '&order=desc' : ''}${limit ? `&limit=${limit}` : ''}`;
    const walk = ++walks;
    let path = `/plants${query}`;
    for (let failures = 0; failures < WALK_TRIES; ) {
      const { status, next } = await requests.page({ path, walk, reader, isDescending }, via);
      if (status !== 200) failures++;
      else if (next === undefined) return true;
      else path = next;
    }
    return undefined;
  };
}

function isFinal({ status, code }: Create): boolean {
  return status === 201 || (code !== undefined && status < 500 && status !== 429 && code !== 40901);
}
