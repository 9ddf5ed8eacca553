import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Check } from '../crash/check.ts';
import type { Stored } from '../crash/stored.ts';
import { type BreakingProxy, startBreakingProxy } from './breaking-proxy.ts';
import { type Answer, ask, type RequestOptions } from './client.ts';

/**
 * Clients that create plants, with and without ids, and delete them, over breaking connections, and a model of the
 * possible results. Every create has a unique name, so the store shows what happened to each.
 */

export type IdLoad = {
  /** The URLs of replicas of one service. */
  urls: readonly string[];
  clients: number;
  /** How many creates and deletes are started. */
  requests: number;
  random: () => number;
};

type Create = {
  name: string;
  /** Chosen by the client. */
  wanted: bigint | undefined;
  /** A create without an id is retried only under a key: otherwise it would be another create. */
  key: string | undefined;
  /** The content of a complete answer. */
  id: bigint | undefined;
};

export type IdModel = {
  creates: Map<string, Create>;
  /** The plants that clients asked to delete, by name. */
  doomed: Set<string>;
  /** Those that a complete answer reported as deleted. */
  gone: Set<string>;
  counts: { created: number; deleted: number; lost: number };
  violations: string[];
};

/** How many of ten requests pass a proxy that breaks most connections. */
const CUT_OF_TEN = 2;
/** How far chosen ids are ahead of the counter, which passes them while they exist. */
const IN_FRONT = 400;
/** How long a request is retried at most: a disk flush may take its time. */
const DEADLINE_MS = 60_000;
/** The pause after a `Retry-After`. */
const PAUSE_MS = 5;

/** Resolves when each request is answered or given up. */
export async function playIds({ urls, clients, requests, random }: IdLoad): Promise<IdModel> {
  const proxies = await Promise.all(urls.map((url) => startBreakingProxy(Number(new URL(url).port), random)));
  const agent = new Agent({ keepAlive: true });
  const once = new Agent();
  const model: IdModel = {
    creates: new Map(),
    doomed: new Set(),
    gone: new Set(),
    counts: { created: 0, deleted: 0, lost: 0 },
    violations: [],
  };
  /** Plants that may be deleted, and the highest known assigned id. */
  const known: Create[] = [];
  let front = 0n;
  const chosen = new Set<bigint>();

  /** Undefined when the answer was lost. */
  async function attempt(path: string, options: RequestOptions): Promise<Answer | undefined> {
    const isCut = random() * 10 < CUT_OF_TEN;
    const n = Math.floor(random() * urls.length);
    const [url, through] = isCut ? [proxies[n]?.url, once] : [urls[n], agent];
    try {
      const answer = await ask(`${url}${path}`, { ...options, agent: through });
      if (isPostponed(answer)) await pause(PAUSE_MS);
      return answer;
    } catch {
      model.counts.lost++;
      return undefined;
    }
  }

  function newCreate(): Create {
    const name = `Plant ${model.creates.size + 1}`;
    const wanted = random() < 0.25 ? inFront() : undefined;
    const key = wanted === undefined && random() < 0.5 ? name.replace(' ', '-') : undefined;
    const create = { name, wanted, key, id: undefined };
    model.creates.set(name, create);
    return create;
  }

  /** An id that nobody chose before: deleting by id must delete the intended plant. */
  function inFront(): bigint {
    for (let id = front + 100n; ; id = front + 100n + BigInt(Math.floor(random() * IN_FRONT))) {
      if (chosen.has(id)) continue;
      chosen.add(id);
      return id;
    }
  }

  async function create(plant: Create): Promise<void> {
    const { name, wanted, key } = plant;
    // The id in full: JavaScript's JSON has no integers of this size.
    const body = wanted === undefined ? JSON.stringify({ name }) : `{"name":"${name}","id":${wanted}}`;
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    const late = performance.now() + DEADLINE_MS;
    while (performance.now() < late) {
      const answer = await attempt('/plants', { method: 'POST', body, headers });
      if (answer?.status === 201) return learn(plant, answer);
      if (answer?.status === 409 && wanted !== undefined) return;
      if (answer !== undefined && !isPostponed(answer))
        return void model.violations.push(`${name}: ${answer.status} ${answer.body}`);
      // A retry could be a second plant.
      if ((answer === undefined || isUnknown(answer)) && (key ?? wanted) === undefined) return;
      // The counter has passed it: the plant may have been added, deleted, and its id forgotten.
      if (wanted !== undefined && wanted <= front) return;
    }
    model.violations.push(`${name} was not answered`);
  }

  function learn(plant: Create, { headers }: Answer): void {
    plant.id = BigInt(/\/plants\/(-?\d+)$/.exec(headers.location ?? '')?.[1] ?? -1);
    model.counts.created++;
    if (plant.wanted === undefined && plant.id > front) front = plant.id;
    known.push(plant);
  }

  async function remove(): Promise<void> {
    // Half of the time the newest, whose id a faulty store would reuse first.
    const at = random() < 0.5 ? known.length - 1 : Math.floor(random() * known.length);
    const plant = known[at];
    // A chosen id ahead of the counter may be assigned after its plant is deleted.
    if (!plant || (plant.wanted ?? 0n) > front) return;
    known.splice(at, 1);
    model.doomed.add(plant.name);
    const late = performance.now() + DEADLINE_MS;
    for (let tries = 1; performance.now() < late; tries++) {
      const answer = await attempt(`/plants/${plant.id}`, { method: 'DELETE' });
      if (answer?.status === 204 || (answer?.status === 404 && tries > 1)) {
        model.gone.add(plant.name);
        model.counts.deleted++;
        return;
      }
      if (answer !== undefined && !isPostponed(answer))
        return void model.violations.push(`DELETE of ${plant.name}: ${answer.status} ${answer.body}`);
    }
    model.violations.push(`the DELETE of ${plant.name} was not answered`);
  }

  let left = requests;
  async function run(): Promise<void> {
    while (left-- > 0) await (random() < 0.4 && known.length > 0 ? remove() : create(newCreate()));
  }
  await Promise.all(Array.from({ length: clients }, run));
  agent.destroy();
  await Promise.all(proxies.map((proxy: BreakingProxy) => proxy.stop()));
  return model;
}

/** Whether the create may have taken effect. */
function isUnknown({ status, body }: Answer): boolean {
  return status === 503 && Number(JSON.parse(body).error) === 50301;
}

function isPostponed({ status, body }: Answer): boolean {
  return status === 503 || (status === 409 && Number(JSON.parse(body).error) === 40901);
}

/** What the store must contain afterwards. Nobody may write meanwhile. */
export function idChecks({ plants, events }: Stored, model: IdModel): Check[] {
  const { creates, doomed, gone } = model;
  const assigned = events.filter(({ name }) => creates.get(name)?.wanted === undefined);
  const there = new Map(plants.map(({ name, id }) => [name, id]));
  return [
    { name: 'answers as expected', count: creates.size, violations: model.violations },
    {
      name: 'no id is assigned twice',
      count: assigned.length,
      violations: repeated(assigned.map(({ id }) => `${id}`)),
    },
    {
      name: 'no id above 2^53 - 1, and none below 1, is assigned',
      count: assigned.length,
      violations: assigned.flatMap(({ id, name }) =>
        id < 1n || id >= 2n ** 53n ? [`${name} has ${id}`] : [],
      ),
    },
    {
      name: 'no create takes effect twice',
      count: events.length,
      violations: repeated(events.map(({ name }) => name)),
    },
    {
      name: 'the answers match the effects',
      count: events.length,
      violations: events.flatMap(({ name, id }) => {
        const said = creates.get(name);
        return said && (said.id ?? id) === id && (said.wanted ?? id) === id ? [] : [`${name} has ${id}`];
      }),
    },
    {
      name: 'no plant is deleted without a request',
      count: events.length,
      violations: events.flatMap(({ name }) => (there.has(name) || doomed.has(name) ? [] : [name])),
    },
    {
      name: 'every plant reported as deleted is deleted',
      count: gone.size,
      violations: [...gone].filter((name) => there.has(name)),
    },
  ];
}

function repeated(all: readonly string[]): string[] {
  const seen = new Set<string>();
  return all.filter((one) => seen.size === seen.add(one).size);
}

/** What happened, as a sentence. */
export function idNotes({ counts, creates }: IdModel, { events }: Stored): string {
  const highest = events.reduce((most, { id, name }) => {
    return creates.get(name)?.wanted === undefined && id > most ? id : most;
  }, 0n);
  return `${creates.size} creates, of which ${counts.created} were answered with 201; ${counts.deleted} deletes; ${counts.lost} answers lost; the highest id assigned is ${highest}`;
}
