import fc from 'fast-check';
import type { Operation } from '../../../testkit/contract/document.ts';
import type { Draft } from '../draft.ts';
import { type Mutation, mutation } from './mutation.ts';

/** What can be wrong with the path of an operation. `foreign` are ids of what another user has. */
export function pathMutations({ path }: Operation, foreign: readonly string[]): fc.Arbitrary<Mutation>[] {
  const mutations: Mutation[] = [...OTHER_PATHS];
  if (path === '/plants/{id}')
    mutations.push(...WRONG_PLANT_IDS.map((id) => segment([40004], 2, id)), ...ESCAPES);
  if (path.startsWith('/webhooks/{id}')) {
    mutations.push(...[...foreign, ...WRONG_IDS].map((id) => segment([40402], 2, id)), ...ESCAPES);
  }
  if (path.startsWith('/tokens/{id}')) {
    mutations.push(...[...foreign, ...WRONG_IDS].map((id) => segment([40404], 2, id)), ...ESCAPES);
  }
  if (path.includes('{event}')) mutations.push(...WRONG_IDS.map((id) => segment([40403], 4, id)));
  return [fc.constantFrom(...mutations)];
}

const OTHER_PATHS: readonly Mutation[] = [
  changed([40400], 'a slash behind', (path) => `${path}/`),
  changed([40400], 'a slash before', (path) => `/${path}`),
  changed([40400], 'a segment more', (path) => `${path}/x/y/z`),
  changed([40400], 'a dot segment', (path) => `/.${path}`),
  changed([40400], 'two dots', (path) => `/plants/..${path}`),
  changed([40400], 'dots, encoded', (path) => `/plants/%2e%2E${path}`),
  changed([40400], 'capitals', (path) => path.replace(/^\/./, (start) => start.toUpperCase())),
  changed([40400], 'an encoded slash', (path) => `/%2F${path.slice(1)}`),
  changed([40400], 'a prefix', (path) => `/v1${path}`),
];

const ESCAPES: readonly Mutation[] = ['%', '%z', '%zz', '%ff', '%c0%af', '%e2%82', '%ed%a0%80'].map((text) =>
  segment([40000], 2, text),
);

const WRONG_PLANT_IDS = [
  ...[
    '07',
    '+7',
    '7.0',
    '7e0',
    '-0',
    '--7',
    '00',
    '0x7',
    '1_000',
    'seven',
    '%20',
    '7%20',
    '%2B7',
    '%2D0',
    '%30%37',
  ],
  ...[
    '9223372036854775808',
    '-9223372036854775809',
    '1'.repeat(300),
    'NaN',
    'null',
    '7;',
    '%00',
    '7%00',
    '7%2F',
    '%D9%A7',
  ],
];

const WRONG_IDS = [
  'x',
  '0',
  'wh_',
  'evt_',
  'wh_01k9f3zv7h8q2m5x4c6d0n1r8t',
  '%00',
  "'",
  '%27%20OR%201=1--',
  'null',
  'x'.repeat(500),
  '%F0%9F%8C%B1',
];

/** Drops the query: a cursor of one webhook's deliveries is invalid for another's. */
function segment(codes: Mutation['codes'], index: number, text: string): Mutation {
  return mutation('path', codes, `segment ${text}`, (draft) => {
    const path = draft.path.split('/').with(index, text).join('/');
    return { ...draft, path, query: index === 2 ? '' : draft.query };
  });
}

function changed(codes: Mutation['codes'], name: string, change: (path: string) => string): Mutation {
  return mutation('path', codes, name, (draft: Draft) => ({ ...draft, path: change(draft.path) }));
}
