import { type Answer, askFor } from './client.ts';
import { type KeyedCreate, TAKEN_ID, tryOnce } from './keyed-creates.ts';

/** What must hold for creates that were retried, each under a key. */

export const TAKEN = { id: TAKEN_ID, name: 'In the way' };

/** Creates the plant with the taken id. */
export async function putInTheWay(url: string): Promise<void> {
  await askFor(`${url}/plants`, { method: 'POST', body: JSON.stringify(TAKEN) });
}

/** The service's data: ids by the plant's name. */
export type Found = { plants: Map<string, string[]>; events: Map<string, string[]> };

/**
 * Sends each create once more over a working connection: each must get its earlier answer, replayed, even a refusal
 * whose cause is gone. Resolves with the violations and the service's data.
 */
export async function violationsOf(
  url: string,
  creates: readonly KeyedCreate[],
): Promise<{ violations: string[]; found: Found }> {
  await askFor(`${url}/plants/${TAKEN_ID}`, { method: 'DELETE' });
  const left = creates.values();
  const unreplayed: string[] = [];
  const client = async () => {
    for (const create of left) {
      if (!(await tryOnce(url, create))) unreplayed.push(`${create.name}: no answer to the last try`);
      else if (!isReplay(create.answers.at(-1)))
        unreplayed.push(`${create.name}: the last try was no replay`);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));

  const found = await readBack(url);
  const violations: string[] = [];
  const names = new Set(creates.map(({ name }) => name));
  for (const create of creates) violations.push(...answersOf(create), ...effectsOf(create, found));
  for (const name of found.plants.keys()) if (!names.has(name)) violations.push(`${name}: never sent`);
  for (const name of found.events.keys()) {
    if (!names.has(name) && name !== TAKEN.name) violations.push(`${name}: an event, and never sent`);
  }
  return { violations: [...violations, ...unreplayed], found };
}

/** Whether the service replayed its answer. */
export function isReplay(answer: Answer | undefined): boolean {
  return answer?.headers['idempotent-replayed'] === 'true';
}

/** How many plants, or events, of the creates exist. */
export function countOf(creates: readonly KeyedCreate[], ids: Map<string, string[]>): number {
  return creates.reduce((sum, { name }) => sum + (ids.get(name)?.length ?? 0), 0);
}

const CLIENTS = 16;

function answersOf({ name, kind, answers }: KeyedCreate): string[] {
  const wrong: string[] = [];
  const texts = new Set(answers.map(({ status, headers, body }) => `${status} ${headers.location} ${body}`));
  if (texts.size !== 1) wrong.push(`${name}: different answers: ${[...texts].join(' | ')}`);
  const made = answers.filter((answer) => !isReplay(answer)).length;
  if (made > 1) wrong.push(`${name}: ${made} answers that are no replays`);
  const [answer] = answers;
  const isRight =
    kind === 'taken'
      ? answer?.status === 409 && JSON.parse(answer.body).error === 40900
      : answer?.status === 201 && answer.body === JSON.stringify({ name });
  if (!isRight) wrong.push(`${name}: ${answer?.status} ${answer?.body}`);
  return wrong;
}

/** Exactly one plant and one event, with the id of `Location`; none for a refused create. */
function effectsOf({ name, kind, answers }: KeyedCreate, { plants, events }: Found): string[] {
  const id = /\/plants\/(-?\d+)$/.exec(answers[0]?.headers.location ?? '')?.[1];
  const expected = kind === 'taken' ? '' : String(id);
  return Object.entries({ plants, events }).flatMap(([what, byName]) => {
    const ids = (byName.get(name) ?? []).join();
    return ids === expected ? [] : [`${name}: ${what} "${ids}" instead of "${expected}"`];
  });
}

const PAGE = 1000;

async function readBack(url: string): Promise<Found> {
  const found: Found = { plants: new Map(), events: new Map() };
  const enter = (ids: Map<string, string[]>, { id, name }: { id: string; name: string }) => {
    ids.set(name, [...(ids.get(name) ?? []), id]);
  };
  for (let path = `/plants?fields=id,name&limit=${PAGE}`; path !== ''; ) {
    const { body, headers } = await askFor(url + path);
    for (const plant of parseExactly(body)) enter(found.plants, plant);
    path = /<([^>]*)>; rel="next"/.exec(String(headers.link))?.[1] ?? '';
  }
  for (let query = `limit=${PAGE}`; query !== ''; ) {
    const { events, cursor } = parseExactly((await askFor(`${url}/events?${query}`)).body);
    for (const { plant } of events) enter(found.events, plant);
    query = events.length < PAGE ? '' : `limit=${PAGE}&cursor=${cursor}`;
  }
  return found;
}

/** With plant ids as text: some have more digits than a JavaScript number. */
function parseExactly(body: string) {
  return JSON.parse(body.replaceAll(/"id":(-?\d+)/g, '"id":"$1"'));
}
