import fc from 'fast-check';
import { MAX_ID, MIN_ID } from './mutations/values.ts';

/** One step of a sequence. Numbers choose people, plants and webhooks, modulo their count. */
export type Command =
  | { kind: 'create'; by: number; id: bigint | undefined; name: string; tag: string | undefined }
  | {
      kind: 'createOnce';
      by: number;
      key: number;
      isQuoted: boolean;
      version: number;
      id: bigint | undefined;
    }
  | { kind: 'createTogether'; by: number; times: number; id: bigint | undefined; mode: TogetherMode }
  | { kind: 'createAndLeave'; by: number; id: bigint | undefined }
  | { kind: 'delete'; by: number; of: number; which: number }
  | { kind: 'list'; by: number; limit: number | undefined; order?: Order; fields: readonly string[] }
  | { kind: 'walk'; by: number; limit: number; order?: Order; between: readonly Command[] }
  | ({ kind: 'share' } & Sides)
  | ({ kind: 'unshare' } & Sides)
  | { kind: 'events'; by: number; limit: number; fromStart: boolean }
  | { kind: 'stream'; by: number }
  | {
      kind: 'createWebhook';
      by: number;
      description: string | undefined;
      rate: number | undefined;
      key: number | undefined;
    }
  | { kind: 'changeWebhook'; by: number; of: number; which: number; patch: Patch }
  | { kind: 'readWebhooks' | 'testWebhook' | 'deleteWebhook'; by: number; of: number; which: number }
  | { kind: 'listDeliveries'; by: number; of: number; which: number; limit: number }
  | { kind: 'listAllDeliveries'; by: number; limit: number };

/** Of a list: by name, with a prefix, by descending id, or by id. */
export type Order = { name: string } | 'desc' | undefined;

export type Sides = { owner: number; viewer: number };

/** `key`: all with the same Idempotency-Key; `other`: the same, but every second has a different body. */
export type TogetherMode = 'plain' | 'key' | 'other';
export type Patch = { description?: string | null; rate?: number | null; enabled?: boolean };

export type Sequence = { names: readonly string[]; commands: readonly Command[] };

/** Prefixes of names whose order differs between code points, UTF-16 and cases. */
const NAMES = ['\uff5e', '\u{1f331}', 'a', 'B'];

const by = fc.nat(2);
const of = fc.nat(5);
const which = fc.nat(20);
/** Few ids, so that they collide, and those at both ends. */
const id = fc.option(
  fc.oneof(
    { weight: 8, arbitrary: fc.bigInt({ min: -4n, max: 12n }) },
    { weight: 1, arbitrary: fc.constantFrom(MIN_ID, MAX_ID, MAX_ID - 1n) },
  ),
  { nil: undefined },
);
const text = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const is = <Kind extends string>(...kinds: Kind[]) => fc.constantFrom(...kinds);
const fields = fc.shuffledSubarray(['id', 'name', 'tag', 'owner'], { minLength: 1 });
/** Beginnings of the names in `text`, rare as they are, and none. */
const order = fc.oneof(
  fc.constantFrom<Order[]>(undefined, undefined, 'desc', { name: '' }),
  fc.string({ maxLength: 1, unit: 'grapheme' }).map((name): Order => ({ name })),
);
const rate = fc.integer({ min: 1, max: 1000 });
const key = fc.nat(3);

const create = fc.record({ kind: is('create'), by, id, name: text, tag: maybe(text) });
const remove = fc.record({ kind: is('delete'), by, of, which });
const share = fc
  .record({ kind: is('share', 'share', 'unshare'), owner: by, viewer: by })
  .filter(({ owner, viewer }) => owner !== viewer);
/** What may happen while a user pages through a list. */
const between = fc.array(fc.oneof(create, remove, remove, share), { maxLength: 3 });
const patch = fc.record(
  { description: fc.option(text), rate: fc.option(rate), enabled: fc.boolean() },
  { requiredKeys: [] },
);

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 12, arbitrary: create },
  {
    weight: 6,
    arbitrary: fc.record({ kind: is('createOnce'), by, key, isQuoted: fc.boolean(), version: fc.nat(1), id }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: is('createTogether'),
      by,
      times: fc.integer({ min: 2, max: 4 }),
      id,
      mode: is<TogetherMode>('plain', 'key', 'other'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: is('createAndLeave'), by, id }) },
  { weight: 6, arbitrary: remove },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: is('list'),
      by,
      limit: maybe(fc.integer({ min: 1, max: 9 })),
      order,
      fields,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: is('walk'), by, limit: fc.integer({ min: 1, max: 4 }), order, between }),
  },
  { weight: 4, arbitrary: share },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: is('events'),
      by,
      limit: fc.integer({ min: 1, max: 8 }),
      fromStart: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: is('stream'), by }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: is('createWebhook'),
      by,
      description: maybe(text),
      rate: maybe(rate),
      key: maybe(key),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: is('changeWebhook'), by, of, which, patch }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: is('readWebhooks', 'testWebhook', 'deleteWebhook'), by, of, which }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: is('listDeliveries'),
      by,
      of,
      which,
      limit: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: is('listAllDeliveries'), by, limit: fc.integer({ min: 1, max: 6 }) }),
  },
);

/** Starts with some shares, so that lists of several owners are common. */
const commands = fc
  .tuple(
    fc.array(share, { maxLength: 5, size: 'max' }),
    fc.array(command, { minLength: 10, maxLength: 50, size: 'max' }),
  )
  .map(([shares, others]): Command[] => [...shares, ...others]);

export const sequences: fc.Arbitrary<Sequence> = fc.record({
  names: fc.shuffledSubarray(NAMES, { minLength: 2, maxLength: 3 }),
  commands,
});
