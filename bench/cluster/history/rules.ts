import { type Facts, isFinal, type Plant, type Walk } from './facts.ts';
import type { Create, Entry, FeedEvent } from './history.ts';
import { brokenIds } from './one-id.ts';

export type Limits = {
  /** For how long a replica may go by an earlier token or share. */
  graceMs: number;
  /** Whether an accepted delivery may come again: only a crash or a lost answer explains it. */
  mayRepeat: boolean;
};

type Rule = (facts: Facts, limits: Limits) => string[];

/** What must hold. Each rule returns a sentence for each violation. */
export const rules = {
  'only expected answers': ({ entries }) => entries.flatMap((entry) => unexpected(entry) ?? []),
  'an id holds one plant at a time': brokenIds,
  '"nothing was done" is true': refusedPlants,
  'a plant has one id and one event': effects,
  'a key has one effect and one answer': keys,
  'a walk shows everything once, in order': ({ walks }) => walks.flatMap((walk) => disorder(walk) ?? []),
  'a cursor of the feed skips and repeats nothing': feeds,
  'each event is delivered to each webhook': deliveries,
  'a revoked token is refused, a valid one is not': tokens,
  'a list shows what is shared': shares,
  'the run settled': settled,
} satisfies Record<string, Rule>;

const SUCCESS: Partial<Record<Entry['kind'], number>> = {
  ...{ create: 201, delete: 204, page: 200, feed: 200 },
  ...{ webhook: 201, token: 201, revoke: 204, use: 200 },
};
const PASSING = [40800, 42900, 50300, 50301, 50302, 50303, 50304];
const REFUSALS: Partial<Record<Entry['kind'], readonly number[]>> = {
  ...{ delete: [40401], webhook: [40901], revoke: [40404], use: [40101] },
};

function unexpected(entry: Entry): string | undefined {
  if (!('op' in entry)) return undefined;
  const { kind, op, status, code } = entry;
  const refusals = kind === 'create' ? refusalsOf(entry) : (REFUSALS[kind] ?? []);
  // A proxy's failures have no code.
  const isExpected =
    code === undefined
      ? [0, SUCCESS[kind]].includes(status) || status >= 500
      : [...PASSING, ...refusals].includes(code);
  if (!isExpected) return `${kind} ${op} was answered ${code ?? status}`;
  if (kind !== 'create' || status !== 201) return undefined;
  const { id, name, tag, created, shown } = entry;
  const isRight = shown?.name === name && shown.tag === tag && created === (id ?? created);
  return isRight && created !== undefined ? undefined : `create ${op} was answered with another plant`;
}

function refusalsOf({ id, key }: Create): number[] {
  return [...(id === undefined ? [] : [40900]), ...(key === undefined ? [] : [40901, 42200])];
}

function refusedPlants({ plants, strangers }: Facts): string[] {
  const seen = [...plants.values()].filter(
    ({ fate, ids, events }) => fate === 'refused' && ids.size + events.size > 0,
  );
  return [
    ...seen.map(({ name, attempts }) => `${name} was refused (${attempts.at(-1)?.code}) and exists`),
    ...[...strangers].map((name) => `${name} exists, and nobody sent it`),
  ];
}

function effects({ plants, feeds, finalFeeds }: Facts): string[] {
  const [final] = finalFeeds;
  const isRead = final !== undefined;
  const announced = new Set(isRead ? feeds.get(final)?.map(({ name }) => name) : []);
  const assigned = new Map<string, string>();
  return [...plants.values()].flatMap((plant) => {
    const { name, tag, tags, ids, events } = plant;
    const wrong: string[] = [];
    if (ids.size > 1) wrong.push(`${name} has the ids ${[...ids].join(' and ')}`);
    if (events.size > 1) wrong.push(`${name} has the events ${[...events].join(' and ')}`);
    if ([...tags].some((seen) => seen !== tag)) wrong.push(`${name} was announced with another tag`);
    if (isRead && exists(plant) && !announced.has(name)) wrong.push(`${name} has no event`);
    for (const id of isAssigned(plant) ? ids : []) {
      if (assigned.has(id)) wrong.push(`${id} was assigned to ${assigned.get(id)} and to ${name}`);
      assigned.set(id, name);
    }
    return wrong;
  });
}

const exists = ({ fate, ids }: Plant) => fate === 'created' || ids.size > 0;
const isAssigned = ({ attempts }: Plant) => attempts[0]?.id === undefined;

function keys({ entries }: Facts): string[] {
  const creates = entries.filter((entry) => entry.kind === 'create' && entry.key !== undefined) as Create[];
  return [...Map.groupBy(creates, ({ key }) => key)].flatMap(([key, attempts]) => {
    const answers = attempts.filter((each) => isFinal(each) && each.code !== 42200);
    const texts = new Set(answers.map(({ name, code, created }) => `${name} ${code ?? created}`));
    const originals = answers.filter(({ replayed }) => !replayed);
    const early = answers.filter(({ end }) => originals.some(({ begin }) => end < begin));
    const [first] = attempts.toSorted((one, other) => one.begin - other.begin);
    const denied = attempts.find(({ code, name }) => code === 42200 && name === first?.name);
    const wrong: string[] = [];
    if (denied) wrong.push(`${key}: ${denied.op} repeated the request and was refused as another`);
    if (texts.size > 1) wrong.push(`${key}: ${[...texts].join(', then ')}`);
    if (originals.length > 1) wrong.push(`${key}: ${originals.length} answers are no replays`);
    if (early.length > 0) wrong.push(`${key}: ${early[0]?.op} was answered before the original`);
    return wrong;
  });
}

function disorder({ walk, pages, isDescending, reader }: Walk): string | undefined {
  const ids = pages.flatMap(({ plants }) => plants.map(({ id }) => BigInt(id)));
  const ascending = isDescending ? ids.reverse() : ids;
  const at = ascending.findIndex((id, n) => n > 0 && id <= (ascending[n - 1] ?? id));
  return at < 0 ? undefined : `walk ${walk} of the ${reader}: ${ascending[at - 1]}, then ${ascending[at]}`;
}

function feeds({ feeds, finalFeeds }: Facts): string[] {
  const [first = 0, ...others] = finalFeeds;
  const whole = feeds.get(first) ?? [];
  return [...feeds].flatMap(([follower, events]) => {
    const at = events.findIndex(({ event }, n) => event !== whole[n]?.event);
    if (at >= 0) return [`follower ${follower}: ${named(events[at])} instead of ${named(whole[at])}`];
    const isShort = others.includes(follower) && events.length < whole.length;
    return isShort ? [`follower ${follower} ends before ${named(whole[events.length])}`] : [];
  });
}

const named = (event: FeedEvent | undefined) => (event ? `${event.event} (${event.name})` : 'the end');

function deliveries({ entries, plants, deliveries }: Facts, { mayRepeat }: Limits): string[] {
  const accepted = Map.groupBy(
    deliveries.filter(({ status }) => status < 300),
    ({ webhook, name }) => `${webhook} ${name}`,
  );
  const missing = entries.flatMap((entry) => {
    if (entry.kind !== 'webhook' || entry.status !== 201) return [];
    const { webhook, end } = entry;
    return [...plants.values()]
      .filter((plant) => exists(plant) && plant.attempts.every(({ begin }) => begin > end))
      .filter(({ name }) => !accepted.has(`${webhook} ${name}`))
      .map(({ name }) => `${name} was not delivered to webhook ${webhook}`);
  });
  const forged = deliveries.filter(({ isGenuine }) => !isGenuine);
  const repeated = mayRepeat ? [] : [...accepted].filter(([, times]) => times.length > 1);
  return [
    ...missing,
    ...forged.map(({ webhook, event }) => `${event} reached webhook ${webhook} without a valid signature`),
    ...repeated.map(([what, times]) => `${what} was accepted ${times.length} times`),
  ];
}

function tokens({ tokens }: Facts, { graceMs }: Limits): string[] {
  return [...tokens].flatMap(([token, entries]) => {
    const revokes = entries.filter(({ kind }) => kind === 'revoke');
    const revoked = revokes.find(({ status, code }) => status === 204 || code === 40404)?.end ?? Infinity;
    const asked = revokes[0]?.begin ?? Infinity;
    return entries
      .filter(({ kind }) => kind === 'use')
      .flatMap(({ op, begin, end, status, code }) => {
        if (status === 200 && begin > revoked + graceMs)
          return [
            `token ${token} was accepted (${op}) ${Math.round(begin - revoked)} ms after it was revoked`,
          ];
        return code === 40101 && end < asked ? [`token ${token} was refused (${op}) while valid`] : [];
      });
  });
}

function shares({ walks, sharedDuring }: Facts): string[] {
  return walks
    .filter(({ reader, begin, end }) => reader === 'viewer' && sharedDuring(begin, end) === false)
    .filter(({ pages }) => pages.some(({ plants }) => plants.length > 0))
    .map(({ walk }) => `walk ${walk} shows plants that are no longer shared`);
}

function settled({ entries, finalFeeds, walks }: Facts): string[] {
  const [start, end] = [entries[0], entries.at(-1)];
  if (start?.kind !== 'start' || end?.kind !== 'settled') return ['the history is not complete'];
  const lists = walks.filter(
    ({ begin, isComplete, reader }) => isComplete && reader === 'owner' && begin > end.begin,
  );
  const wrong = end.isQuiet ? [] : ['deliveries were still waiting'];
  const isRead = Math.min(finalFeeds.length, lists.length) >= start.replicas;
  return isRead ? wrong : [...wrong, 'list or feed could not be read at the end'];
}
