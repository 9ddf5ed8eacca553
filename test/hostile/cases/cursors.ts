import { succeeded } from '../../../testkit/service/answer.ts';
import { type Service, startService } from '../../../testkit/service/service.ts';
import { bare, type Case, expecting, type Family, type Ground } from '../case.ts';
import { RECEIVERS, silentWebhook } from '../webhook.ts';

/** Cursors that the service did not issue, or issued for something else: contract, sections 1, 3 and 5. */

type List = { name: string; word: string; target: string };

const PLANTS: List = { name: 'plants', word: 'plants', target: '/plants?limit=1&cursor=' };
const BY_NAME: List = { name: 'plants by name', word: 'byName', target: '/plants?limit=1&name=w&cursor=' };
const DESCENDING: List = {
  name: 'descending plants',
  word: 'descending',
  target: '/plants?limit=1&order=desc&cursor=',
};
const ALL_DELIVERIES: List = {
  name: 'deliveries of all webhooks',
  word: 'allDeliveries',
  target: '/deliveries?limit=1&cursor=',
};
const EVENTS: List = { name: 'events', word: 'events', target: '/events?limit=1&cursor=' };
const DELIVERIES: List = {
  name: 'deliveries',
  word: 'deliveries',
  target: '/webhooks/{webhook}/deliveries?limit=1&cursor=',
};

const refused = expecting(40007, 'open');
const accepted = expecting(200, 'open');

/** With a cursor derived from the service's. */
function changed({ word, target }: List, change: (cursor: string, ground: Ground) => string): Case['bytes'] {
  return (ground) => {
    const cursor = change(ground.words[word] ?? '', ground);
    return bare(`GET ${target}${cursor} HTTP/1.1`)(ground);
  };
}

const other = (letter: string): string =>
  letter === '7' ? '8' : /\d/.test(letter) ? '7' : letter === 'a' ? 'b' : 'a';

/** Changes one letter, at this share of the length. */
function flipped(cursor: string, share: number): string {
  const at = Math.min(cursor.length - 1, Math.floor(cursor.length * share));
  return cursor.slice(0, at) + other(cursor[at] ?? '') + cursor.slice(at + 1);
}

const PLACES = Array.from({ length: 13 }, (_, n) => n / 12);

const LISTS = [PLANTS, BY_NAME, DESCENDING, ALL_DELIVERIES, EVENTS, DELIVERIES];

const onEach = LISTS.flatMap((list): Case[] => {
  const named = (name: string, change: (cursor: string) => string) =>
    refused(`${list.name}: ${name}`, changed(list, change));
  return [
    accepted(
      `${list.name}: as it was given`,
      changed(list, (cursor) => cursor),
    ),
    accepted(`${list.name}: all of it in percent-encoding`, changed(list, escaped)),
    ...PLACES.map((share) =>
      named(`another letter at ${Math.round(share * 100)} %`, (cursor) => flipped(cursor, share)),
    ),
    ...[0.25, 0.5, 0.75].map((share) =>
      named(`cut at ${share * 100} %`, (cursor) => cursor.slice(0, cursor.length * share)),
    ),
    named('without its last letter', (cursor) => cursor.slice(0, -1)),
    named('without its first letter', (cursor) => cursor.slice(1)),
    named('with a letter more', (cursor) => `${cursor}a`),
    named('with a digit more', (cursor) => `${cursor}0`),
    named('with a zero before', (cursor) => `0${cursor}`),
    named('with padding', (cursor) => `${cursor}=`),
    named('with a space after', (cursor) => `${cursor}%20`),
    named('with a space before', (cursor) => `%20${cursor}`),
    named('with a line feed after', (cursor) => `${cursor}%0a`),
    named('with NUL after', (cursor) => `${cursor}%00`),
    named('twice in one', (cursor) => cursor + cursor),
    named('backwards', (cursor) => [...cursor].reverse().join('')),
    named('in quotes', (cursor) => `%22${cursor}%22`),
    named('escaped twice', (cursor) => escaped(cursor).replaceAll('%', '%25')),
    named('with the neighbour of its last letter', nextLetter),
    expecting([40003, 40007], 'open')(
      `${list.name}: empty`,
      changed(list, () => ''),
    ),
    expecting(40003, 'open')(
      `${list.name}: given twice`,
      changed(list, (cursor) => `${cursor}&cursor=${cursor}`),
    ),
  ];
});

function escaped(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

/**
 * Replaces the last letter by its neighbour, which in base64 may stand for the same bytes but is a different cursor.
 */
function nextLetter(cursor: string): string {
  const last = cursor.charCodeAt(cursor.length - 1);
  const next = String.fromCharCode(last + 1);
  return cursor.slice(0, -1) + (/[0-9A-Za-z]/.test(next) ? next : String.fromCharCode(last - 1));
}

const MADE_UP: [name: string, cursor: string][] = [
  ['a number', '1'],
  ['zero', '0'],
  ['a negative number', '-1'],
  ['the least id', '-9223372036854775808'],
  ['null', 'null'],
  ['a word', 'next'],
  ['an empty object', '%7B%7D'],
  ['an object in base64', 'eyJpZCI6MX0='],
  ['an id and zeros', '1.1.0'],
  ['points', '...'],
  ['a sum that is too large', '1.1.4294967296'],
  ['a sum that is negative', '1.1.-1'],
  ['a sum in hexadecimal', '1.1.0x0'],
  ['SQL', "1'%20OR%20'1'='1"],
  ['NUL', '%00'],
  ['an emoji', '%f0%9f%8c%b1'],
  ['a byte order mark', '%ef%bb%bf'],
  ['a path', '..%2f..%2fetc%2fpasswd'],
  ['__proto__', '__proto__'],
  ['an id of an event', 'evt_01k9f3zv7h8q2m5x4c6d0n1r8t'],
  ['5,000 digits', '1'.repeat(5000)],
  ['2,000 points', '.'.repeat(2000)],
];

/** Each is valid only for its own list, user and service. */
const STRANGE: [name: string, list: List, word: string][] = [
  ['of events, for plants', PLANTS, 'events'],
  ['of deliveries, for plants', PLANTS, 'deliveries'],
  ['of plants, for events', EVENTS, 'plants'],
  ['of deliveries, for events', EVENTS, 'deliveries'],
  ['of plants, for deliveries', DELIVERIES, 'plants'],
  ['of events, for deliveries', DELIVERIES, 'events'],
  ['of plants, for plants by name', BY_NAME, 'plants'],
  ['of another beginning, for plants by name', BY_NAME, 'byOtherName'],
  ['of plants, for descending ones', DESCENDING, 'plants'],
  ['of plants by name, for plants', PLANTS, 'byName'],
  ['of plants by name, for descending ones', DESCENDING, 'byName'],
  ['of descending plants, for plants', PLANTS, 'descending'],
  ['of one webhook, for deliveries of all', ALL_DELIVERIES, 'deliveries'],
  ['of all deliveries, for one webhook', DELIVERIES, 'allDeliveries'],
  ['of pending deliveries, for all', ALL_DELIVERIES, 'allPending'],
  ['of another webhook', DELIVERIES, 'otherDeliveries'],
  ['of plants of another service', PLANTS, 'foreignPlants'],
  ['of events of another service', EVENTS, 'foreignEvents'],
  ['of deliveries of another service', DELIVERIES, 'foreignDeliveries'],
  ['of plants of another user', PLANTS, 'strangersPlants'],
  ['of events of another user', EVENTS, 'strangersEvents'],
  ['of deliveries of another user', DELIVERIES, 'strangersDeliveries'],
  ['of plants by name of another user', BY_NAME, 'strangersByName'],
  ['of all deliveries of another user', ALL_DELIVERIES, 'strangersAllDeliveries'],
];

const stream = (value: string) => bare('GET /events/stream HTTP/1.1', `Last-Event-ID: ${value}`);

export const cursors: Family = {
  name: 'cursors',
  cases: [
    ...onEach,
    ...MADE_UP.flatMap(([name, cursor]) =>
      LISTS.map((list) =>
        refused(
          `${list.name}: ${name}`,
          changed(list, () => cursor),
        ),
      ),
    ),
    ...STRANGE.map(([name, list, word]) =>
      refused(
        `a cursor ${name}`,
        changed(list, (_, { words }) => words[word] ?? ''),
      ),
    ),
    refused(
      'plants: forged from three others, as the sum of what is linear',
      changed(PLANTS, (_, { words }) => forged([words.after0, words.after1000, words.after1001])),
    ),
    refused('a stream after a made-up event', stream('x')),
    refused('a stream after a cursor of plants', stream('{plants}')),
    refused("a stream after another user's event", stream('{strangersEvents}')),
    refused("a stream after another service's event", stream('{foreignEvents}')),
    refused('a stream after an event without its sum', stream('evt_01k9f3zv7h8q2m5x4c6d0n1r8t')),
  ],
  async prepare(service, ground) {
    const own = await givenTo(service, ground.token);
    const stranger = await givenTo(service, await service.tokenFor('a stranger to cursors'));
    const foreign = await givenElsewhere(ground.user);
    return {
      ...own,
      ...prefixed('strangers', stranger),
      ...prefixed('foreign', foreign),
    };
  },
};

/** From a service with its own store, whose user has the same name and plants. */
async function givenElsewhere(user: string): Promise<Record<string, string>> {
  const settings = { WEBHOOK_ALLOWED_NETWORKS: RECEIVERS.network };
  const elsewhere = await startService({ ...settings, DATABASE_URL: '' });
  try {
    return await givenTo(elsewhere, await elsewhere.tokenFor(user));
  } finally {
    await elsewhere.stop();
  }
}

const prefixed = (prefix: string, words: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(words).map(([word, value]) => [
      prefix + (word[0] ?? '').toUpperCase() + word.slice(1),
      value,
    ]),
  );

/** Plants with these ids, two webhooks, and cursors of all lists, for plants after each. */
async function givenTo(service: Service, token: string): Promise<Record<string, string>> {
  const webhook = await silentWebhook(service, token);
  const second = await silentWebhook(service, token);
  for (const id of [1000, 1001, 1010]) {
    succeeded(await service.request('POST', '/plants', { token, body: { id, name: 'Walked' } }), 201);
  }
  const ask = async (path: string) => service.request('GET', path, { token });
  const next = async (path: string) => cursorIn((await ask(path)).headers.get('link'));
  const after: Record<string, string> = {};
  for (let cursor = '', page = 0; page < 6; page++) {
    const { text, headers } = await ask(
      `/plants?${new URLSearchParams({ fields: 'id', limit: '1', ...(cursor && { cursor }) })}`,
    );
    cursor = cursorIn(headers.get('link'));
    after[`after${/\d+/.exec(text)?.[0]}`] = cursor;
  }
  const { cursor: events } = succeeded(await ask('/events?limit=1'), 200) as { cursor: string };
  return {
    ...after,
    webhook,
    plants: after.after1000 ?? '',
    events,
    byName: await next('/plants?limit=1&name=W'),
    byOtherName: await next('/plants?limit=1&name=wa'),
    descending: await next('/plants?limit=1&order=desc'),
    allDeliveries: await next('/deliveries?limit=1'),
    allPending: await next(`/deliveries?limit=1&state=pending`),
    deliveries: await next(`/webhooks/${webhook}/deliveries?limit=1`),
    otherDeliveries: await next(`/webhooks/${second}/deliveries?limit=1`),
  };
}

function cursorIn(link: string | null): string {
  return new URL(/<([^>]*)>/.exec(link ?? '')?.[1] ?? '', 'http://x').searchParams.get('cursor') ?? '';
}

/**
 * A checksum such as CRC-32 is linear: the sum of three positions has the sum of their checksums. Positions in digits
 * are summed as numbers, all others as bytes.
 */
function forged(cursors: readonly (string | undefined)[]): string {
  const parts = cursors.map((cursor = '') => [
    cursor.slice(0, cursor.lastIndexOf('.')),
    cursor.slice(cursor.lastIndexOf('.') + 1),
  ]);
  const position = xor(parts.map(([head = '']) => Buffer.from(head))).toString('latin1');
  const sums = parts.map(([, sum = '']) => sum);
  if (sums.every((sum) => /^\d+$/.test(sum)))
    return `${position}.${sums.reduce((all, sum) => all ^ Number(sum), 0) >>> 0}`;
  return `${position}.${xor(sums.map((sum) => Buffer.from(sum, 'base64url'))).toString('base64url')}`;
}

function xor([first = Buffer.alloc(0), ...others]: Buffer[]): Buffer {
  return Buffer.from(first.map((byte, at) => others.reduce((sum, other) => sum ^ (other[at] ?? 0), byte)));
}
