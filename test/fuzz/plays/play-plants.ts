import { isDeepStrictEqual } from 'node:util';
import { parseExact } from '../../../testkit/contract/json-exact.ts';
import type { Command, Order } from '../commands.ts';
import { cursorIn } from '../fixtures.ts';
import type { Answered } from '../ground.ts';
import { ask, expect, expectCode, expectStatus, type Stage } from '../stage.ts';
import { addPlant, compare, listFor, type Person, type Plant, type Row } from '../world.ts';

type Of<Kind extends Command['kind']> = Extract<Command, { kind: Kind }>;

export async function create(stage: Stage, person: Person, { id, name, tag }: Of<'create'>): Promise<void> {
  const plant = plantNamed(`${name} ${stage.ground.next()}`, tag);
  const answer = await ask(stage, person, {
    operation: 'createPlant',
    path: '/plants',
    body: textOf(plant, id),
  });
  created(stage, person, plant, id, answer);
}

export async function remove(stage: Stage, person: Person, { of, which }: Of<'delete'>): Promise<void> {
  const { people } = stage.world;
  // Sometimes another user's plant, which is not found unless there is an own one with this id.
  const target = of < 3 ? person : (people[of % people.length] ?? person);
  const ids = [...target.plants.keys()];
  const id = ids[which % Math.max(1, ids.length)] ?? BigInt(which);
  const answer = await ask(stage, person, { operation: 'deletePlant', path: `/plants/${id}` });
  if (person.plants.delete(id)) expectStatus(answer, 204);
  else expectCode(answer, 40401);
}

export async function list(
  stage: Stage,
  person: Person,
  { limit, order, fields }: Of<'list'>,
): Promise<void> {
  await listOnce(stage, person, { limit, order, fields });
  // Requested so often that the service keeps it.
  await listOnce(stage, person, KEPT_LIST);
}

const KEPT_LIST: Listed = { limit: 3, order: undefined, fields: ['id', 'name', 'owner'] };

type Listed = Pick<Of<'list'>, 'limit' | 'order' | 'fields'>;

async function listOnce(stage: Stage, person: Person, { limit, order, fields }: Listed): Promise<void> {
  const size = limit === undefined ? '' : `&limit=${limit}`;
  const query = `fields=${fields.join()}${size}${orderIn(order)}`;
  const answer = await ask(stage, person, { operation: 'listPlants', path: '/plants', query });
  const all = listFor(person, order);
  const expected = all.slice(0, limit).map((row) => only(row, fields));
  expect(isDeepStrictEqual(parseExact(answer.text), expected), `the list should be ${shown(expected)}`);
  const hasMore = limit !== undefined && all.length > limit;
  expect((cursorIn(answer) !== '') === hasMore, 'Link does not tell whether there are more');
}

/** Checks that what exists and is visible throughout the walk appears exactly once, and everything in order. */
export async function walk(
  stage: Stage,
  person: Person,
  { limit, order, between }: Of<'walk'>,
  play: (command: Command) => Promise<void>,
): Promise<void> {
  const owners = stage.world.people.map(({ name }) => name);
  let must = listFor(person, order);
  const may = new Map(must.map((row) => [row.name, row]));
  const seen: Row[] = [];
  let cursor = '';
  const rest = [...between];
  do {
    const query = `fields=id,name,tag,owner&limit=${limit}${orderIn(order)}${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const answer = await ask(stage, person, { operation: 'listPlants', path: '/plants', query });
    expectStatus(answer, 200);
    const rows = rowsIn(answer);
    expect(rows.length <= limit, 'a page with too many');
    seen.push(...rows);
    cursor = cursorIn(answer);
    expect(cursor === '' || rows.length === limit, 'a page with too few, but not the last');
    const command = rest.shift();
    if (command && cursor !== '') {
      await play(command);
      const now = listFor(person, order);
      for (const row of now) may.set(row.name, row);
      must = must.filter(({ name }) => now.some((row) => row.name === name));
    }
  } while (cursor !== '');
  for (const row of seen) {
    expect(isDeepStrictEqual(row, may.get(row.name)), `a plant that should not be there: ${shown(row)}`);
  }
  for (const row of must)
    expect(
      seen.some(({ name }) => name === row.name),
      `a plant that was skipped: ${shown(row)}`,
    );
  const ranks = [person.name, ...owners.filter((name) => name !== person.name).sort(byCodePoints)];
  for (const [i, row] of seen.entries()) {
    const before = seen[i - 1];
    if (before) expect(isBefore(before, row, ranks, order), `not in order: ${shown(before)}, ${shown(row)}`);
  }
}

function orderIn(order: Order): string {
  if (typeof order === 'object') return `&name=${encodeURIComponent(order.name)}`;
  return order === undefined ? '' : `&order=${order}`;
}

export function plantNamed(name: string, tag: string | undefined): Plant {
  return tag === undefined ? { name } : { name, tag };
}

export function textOf(plant: Plant, id: bigint | undefined): string {
  const text = JSON.stringify(plant);
  return id === undefined ? text : `${text.slice(0, -1)},"id":${id}}`;
}

/** Checks the answer to a first create, and adds the plant to the model. */
export function created(
  stage: Stage,
  person: Person,
  plant: Plant,
  id: bigint | undefined,
  answer: Answered,
): void {
  if (id !== undefined && person.plants.has(id)) {
    expectCode(answer, 40900);
    return;
  }
  expectStatus(answer, 201);
  expect(isDeepStrictEqual(JSON.parse(answer.text), plant), 'the plant is not as it was sent');
  const given = /^\/plants\/(0|-?[1-9]\d*)$/.exec(answer.headers.get('location') ?? '')?.[1];
  expect(given !== undefined, 'Location has no id');
  expect(id === undefined || given === String(id), 'Location has another id');
  expect(!person.plants.has(BigInt(given)), 'Location has an id that was taken');
  addPlant(stage.world, person, BigInt(given), plant);
}

function rowsIn(answer: Answered): Row[] {
  const rows = parseExact(answer.text);
  expect(Array.isArray(rows), 'the list is no list');
  return rows;
}

function only(row: Row, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => fields.includes(name)));
}

function isBefore(one: Row, other: Row, owners: readonly string[], order: Order): boolean {
  if (one.owner === other.owner) return compare(one, other, order) < 0;
  return owners.indexOf(one.owner) < owners.indexOf(other.owner);
}

function byCodePoints(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? String(inner) : inner));
}
