import { check, type Finding } from './check.ts';
import type { Create, Delete, Entry } from './history.ts';
import { type Places, placesIn } from './places.ts';
import type { Limits } from './rules.ts';

/** A violation, and whether the rule that it breaks found it. */
export type Seeded = { name: string; rule: Finding['rule']; isFound: boolean };

/**
 * Seeds each kind of violation into a copy of the history of a healthy run, and checks that. Throws when the run has
 * no place for one: it was too short.
 */
export function seedViolations(history: readonly Entry[], limits: Partial<Limits>): Seeded[] {
  return violations.map(([name, rule, seed]) => {
    const entries = structuredClone([...history]);
    seed(placesIn(entries, name, limits.graceMs ?? 5_000));
    const { findings } = check(entries, { ...limits, mayRepeat: false });
    return { name, rule, isFound: findings.some((finding) => finding.rule === rule) };
  });
}

const ONE_ID = 'an id holds one plant at a time';
const UNDONE = '"nothing was done" is true';
const EFFECTS = 'a plant has one id and one event';
const KEYS = 'a key has one effect and one answer';
const WALKS = 'a walk shows everything once, in order';
const FEEDS = 'a cursor of the feed skips and repeats nothing';
const DELIVERIES = 'each event is delivered to each webhook';
const TOKENS = 'a revoked token is refused, a valid one is not';
const SHARES = 'a list shows what is shared';
const ANSWERS = 'only expected answers';

const NOTHING = { created: undefined, shown: undefined };
const REFUSED = { status: 409, code: 40900, ...NOTHING };
const UNAVAILABLE = { status: 503, code: 50302, ...NOTHING };
const MISSING = { status: 404, code: 40401 };

const isTaken = ({ code, id }: Create) => code === 40900 && id !== undefined;
const isReuse = ({ code }: Create) => code === 42200;
const isDone = ({ status }: Delete) => status === 204;
const isMissing = ({ code }: Delete) => code === 40401;

const violations: [name: string, rule: Finding['rule'], seed: (places: Places) => void][] = [
  ['an acknowledged plant is lost', ONE_ID, (p) => p.hide(p.kept(), p.pages)],
  ['an acknowledged plant is missing at the end', ONE_ID, (p) => p.hide(p.kept(), p.finalPages)],
  ['one replica misses a plant at the end', ONE_ID, (p) => p.hide(p.kept(), p.finalPages.slice(-1))],
  ['a list is stale', ONE_ID, (p) => p.hide(...p.shownBy('owner'))],
  ['a list of the viewer is stale', ONE_ID, (p) => p.hide(...p.shownBy('viewer'))],
  ['a deleted plant is back at the end', ONE_ID, (p) => p.show(p.deleted(), p.finalPages)],
  ['a deleted plant is shown once more', ONE_ID, (p) => p.show(p.deleted(), p.finalPages.slice(-1))],
  ['a taken id is given twice', ONE_ID, (p) => p.accept(p.pick(p.calmCreates, isTaken))],
  [
    'a plant is deleted twice',
    ONE_ID,
    (p) => p.change(p.pick(p.calmDeletes, isMissing), { status: 204, code: undefined }),
  ],
  ['an existing plant is not found', ONE_ID, (p) => p.change(p.pick(p.calmDeletes, isDone), MISSING)],
  [
    'a delete was done and answered 50302',
    ONE_ID,
    (p) => p.change(p.pick(p.calmDeletes, isDone), UNAVAILABLE),
  ],
  [
    'a free id is called taken',
    ONE_ID,
    (p) => p.add({ ...p.pick(p.creates, isTaken), id: '-77', name: p.fresh }),
  ],
  [
    'an unanswered create appears and vanishes',
    ONE_ID,
    (p) => {
      const plant = p.kept();
      p.hide(plant, p.finalPages);
      p.change(p.createOf(plant), { status: 0, ...NOTHING });
    },
  ],
  ['a plant was created and answered 40900', UNDONE, (p) => p.change(p.createOf(p.kept()), REFUSED)],
  ['a plant was created and answered 50302', UNDONE, (p) => p.change(p.createOf(p.kept()), UNAVAILABLE)],
  ['a refused plant is listed', UNDONE, (p) => p.show({ id: '-78', name: p.refused() }, p.finalPages)],
  ['a refused plant is delivered', UNDONE, (p) => p.add({ ...p.delivery(), name: p.refused() })],
  ['a plant is delivered that nobody sent', UNDONE, (p) => p.add({ ...p.delivery(), name: p.fresh })],
  ['a plant is listed that nobody sent', UNDONE, (p) => p.show({ id: '-79', name: p.fresh }, p.finalPages)],
  ['a key creates two plants', EFFECTS, (p) => p.show({ id: '-80', name: p.keyed().name }, p.finalPages)],
  [
    'a key causes two events',
    EFFECTS,
    (p) => p.announce({ event: 'evt_2', id: '-81', name: p.keyed().name }),
  ],
  ['a replay shows another id', KEYS, (p) => p.change(p.replay(), { created: '-82' })],
  ['a replay is refused', KEYS, (p) => p.change(p.replay(), { ...REFUSED, replayed: true })],
  ['a replay is taken for another request', KEYS, (p) => p.change(p.replay(), { ...REFUSED, code: 42200 })],
  ['a key is evaluated twice', KEYS, (p) => p.change(p.replay(), { replayed: false })],
  ['a reused key is accepted', KEYS, (p) => p.accept(p.pick(p.creates, isReuse))],
  [
    'an id is assigned twice',
    EFFECTS,
    (p) => {
      const [first, second] = p.assigned();
      p.change(second, { created: first?.created });
    },
  ],
  [
    'a create shows another name',
    ANSWERS,
    (p) => p.change(p.createOf(p.kept()), { shown: { name: 'Other' } }),
  ],
  ['a create has no Location', ANSWERS, (p) => p.change(p.createOf(p.kept()), { created: undefined })],
  [
    'a create is answered 50000',
    ANSWERS,
    (p) => p.change(p.pick(p.creates, isTaken), { status: 500, code: 50000 }),
  ],
  [
    'a cursor of another replica is refused',
    ANSWERS,
    (p) => p.change(p.pick(p.feeds), { status: 400, code: 40007 }),
  ],
  ['a walk skips a plant', ONE_ID, (p) => p.hide(...p.shownBy('owner', true))],
  [
    'a walk shows a plant twice',
    WALKS,
    (p) => {
      const [page, next] = p.twoPages();
      next?.plants.unshift(...(page?.plants.slice(-1) ?? []));
    },
  ],
  ['a walk is out of order', WALKS, (p) => p.twoPages()[0]?.plants.reverse()],
  ['a follower misses an event', FEEDS, (p) => p.feedPage().events.splice(1, 1)],
  [
    'a follower gets an event twice',
    FEEDS,
    (p) => p.feedPage().events.splice(1, 0, ...p.feedPage().events.slice(0, 1)),
  ],
  ['a follower gets events in another order', FEEDS, (p) => p.feedPage().events.reverse()],
  [
    'the feeds of two replicas differ',
    FEEDS,
    (p) => p.finalFeeds.findLast(({ events }) => events.length > 0)?.events.pop(),
  ],
  [
    'a plant is in no feed',
    EFFECTS,
    (p) => {
      const { name } = p.kept();
      for (const page of p.feeds) page.events = page.events.filter((event) => event.name !== name);
    },
  ],
  [
    'an event is not delivered',
    DELIVERIES,
    (p) => {
      const { webhook, event } = p.delivery();
      p.remove((each) => each.kind === 'delivery' && each.event === event && each.webhook === webhook);
    },
  ],
  [
    'no receiver accepted an event',
    DELIVERIES,
    (p) => {
      const { event } = p.delivery();
      for (const each of p.deliveries) if (each.event === event) p.change(each, { status: 500 });
    },
  ],
  ['an event has another id for a webhook', EFFECTS, (p) => p.change(p.delivery(), { event: 'evt_3' })],
  ['another id is delivered', EFFECTS, (p) => p.change(p.delivery(), { id: '-83' })],
  ['another tag is delivered', EFFECTS, (p) => p.change(p.delivery(), { tag: 'Other' })],
  ['a delivery is not signed', DELIVERIES, (p) => p.change(p.delivery(), { isGenuine: false })],
  ['a delivery comes again without a crash', DELIVERIES, (p) => p.add(p.delivery())],
  ['a revoked token is accepted', TOKENS, (p) => p.change(p.revokedUse(), { status: 200 })],
  ['a valid token is refused', TOKENS, (p) => p.change(p.validUse(), { status: 401, code: 40101 })],
  ['a list shows what is no longer shared', SHARES, (p) => p.show(p.kept(), [p.unsharedPage()])],
];
