import { type Follower, follow } from '../../../testkit/service/follower.ts';
import type { Command } from '../commands.ts';
import { ask, expect, expectStatus, type Stage } from '../stage.ts';
import { type FeedPlace, ownersFor, type Person } from '../world.ts';

const PATIENCE_MS = 10_000;

type Of<Kind extends Command['kind']> = Extract<Command, { kind: Kind }>;

/**
 * Continues after the person's last cursor, or starts: no event is skipped or repeated. On PostgreSQL an event appears
 * only once all older transactions have ended, including those of others on the server, so a due event may take a
 * while.
 */
export async function events(
  stage: Stage,
  person: Person,
  { limit, fromStart }: Of<'events'>,
): Promise<void> {
  const place = fromStart ? undefined : person.feed;
  const due = mustFollow(stage, person, place);
  const deadline = performance.now() + PATIENCE_MS;
  const names: string[] = [];
  let cursor = place?.cursor;
  do {
    const page = await read(stage, person, limit - names.length, cursor);
    names.push(...page.names);
    cursor = page.cursor;
  } while (
    names.length < limit &&
    !due.every((name) => names.includes(name)) &&
    performance.now() < deadline
  );
  person.feed = { ...compare(stage, person, place, names, names.length === limit), cursor };
}

async function read(
  stage: Stage,
  person: Person,
  limit: number,
  cursor: string | undefined,
): Promise<{ names: string[]; cursor: string }> {
  const query = `limit=${limit}${cursor ? `&cursor=${cursor}` : ''}`;
  const answer = await ask(stage, person, { operation: 'listEvents', path: '/events', query });
  expectStatus(answer, 200);
  const page: { events: { plant: { name: string } }[]; cursor: string } = JSON.parse(answer.text);
  expect(page.events.length <= limit, 'more events than were asked for');
  return { names: page.events.map(({ plant }) => plant.name), cursor: page.cursor };
}

/** The stream returns the same as the list. */
export async function stream(stage: Stage, person: Person): Promise<void> {
  const place = person.feed;
  if (!place) return;
  const due = mustFollow(stage, person, place);
  stage.world.trail.push(() => `(a stream of events of ${person.name} from ${place.cursor})`);
  const follower = await follow(stage.ground.service, person.token, place.cursor);
  try {
    const names: string[] = [];
    while (names.length < due.length) names.push(await nextName(follower));
    // Optional events may come in between, so fewer of the others are among the first.
    compare(stage, person, place, names, true);
  } finally {
    follower.close();
  }
}

/** Lines end only with a line feed, not with a U+2028 in a name. */
async function nextName(follower: Follower): Promise<string> {
  const [, type, data = ''] = (await follower.next()).split('\n');
  expect(type === 'event: plant.created' && data.startsWith('data: '), 'no event of a plant');
  return JSON.parse(data.slice('data: '.length)).plant.name;
}

/** @throws when these are not the events that follow the place. Returns the place after them. */
function compare(
  stage: Stage,
  person: Person,
  place: FeedPlace | undefined,
  names: readonly string[],
  isFull: boolean,
): Omit<FeedPlace, 'cursor'> {
  const { log } = stage.world;
  const visible = ownersFor(person);
  const first = place?.first ?? 0;
  let last = first - 1;
  for (const name of names) {
    const index = log.findIndex(({ plant }) => plant.name === name);
    expect(index !== -1 && index >= first, `an event that should not come: ${name}`);
    expect(visible.includes(log[index]?.owner ?? person), `an event of a plant that is not shared: ${name}`);
    expect(index > last, `an event that is not in order: ${name}`);
    last = index;
  }
  const until = isFull ? last : log.length - 1;
  for (const name of mustFollow(stage, person, place, until))
    expect(names.includes(name), `an event was skipped: ${name}`);
  return { first: last + 1, position: until + 1, owners: new Set(visible) };
}

function mustFollow(
  { world }: Stage,
  person: Person,
  place: FeedPlace | undefined,
  until = world.log.length - 1,
): string[] {
  const visible = ownersFor(person);
  return world.log.flatMap(({ owner, plant }, index) => {
    const isSeen = visible.includes(owner) && (place?.owners.has(owner) ?? true);
    return isSeen && index >= (place?.position ?? 0) && index <= until ? [plant.name] : [];
  });
}
