import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NOWHERE } from '../../../testkit/service/webhook-client.ts';
import { LONG, type Person, placeholder, plant, startTwins, type Twins } from './twins.ts';

/** Lists by name, of the newest first, and of the deliveries of all webhooks: both stores answer the same, byte for byte. */

let twins: Twins;
before(async () => {
  twins = await startTwins();
});
after(() => twins.stop());

const bodyOf = (answer: string) => answer.slice(answer.indexOf('\n\n') + 2);
const itemsOf = (pages: readonly string[]) => pages.flatMap((page) => JSON.parse(bodyOf(page)));

async function grow(person: Person, names: readonly string[]): Promise<void> {
  for (const name of names) await twins.ask(person, plant({ name }));
}

const NAMES = [
  'Alder',
  'ALDER',
  'alder',
  'Älder',
  'A\u0308lder',
  'Al',
  'al der',
  'a%',
  'a_',
  '\u{1f331}',
  '\uff5e',
  'ẞ',
  'İ',
  'ΟΔΟΣ',
];

test('names are found by their beginning, in pages and in one answer', async () => {
  const [ann, bob] = [await twins.user('ann of names'), await twins.user('bob of names')];
  await grow(ann, NAMES);
  await grow(bob, ['alDer', 'Beech']);
  await twins.share(bob, ann);
  await twins.askUntil(ann, { line: 'GET /plants?fields=owner' }, /bob/);
  for (const prefix of [
    'al',
    'AL',
    '%C3%84',
    'A%CC%88',
    '',
    'a%25',
    'a_',
    '%C4%B0',
    '%C3%9F',
    '%CE%BF%CE%B4%CE%BF%CF%82',
    'x',
    LONG,
  ]) {
    const whole = itemsOf([
      await twins.ask(ann, { line: `GET /plants?name=${prefix}&fields=id,name,owner` }),
    ]);
    for (const limit of [1, 3, 100, 101, 2147483647]) {
      const paged = await twins.pages(
        ann,
        `/plants?limit=${limit}&name=${prefix}&fields=id&fields=name,owner`,
      );
      assert.deepEqual(itemsOf(paged), whole);
    }
    const line = `GET /plants?name=${prefix}&fields=id,name,owner&limit=2&cursor=last`;
    assert.deepEqual(itemsOf([await twins.ask(ann, { line })]), whole.slice(-2));
  }
  const found = itemsOf([await twins.ask(ann, { line: 'GET /plants?name=AL&fields=name&fields=owner' })]);
  assert.deepEqual(
    found.map(({ name }) => name),
    ['Al', 'al der', 'Alder', 'ALDER', 'alder', 'alDer'],
  );
});

test('descending ids come in pages and in one answer, own plants first', async () => {
  const [ann, bob] = [await twins.user('ann of orders'), await twins.user('bob of orders')];
  for (const who of [ann, bob]) {
    for (const id of ['5', '-9223372036854775808', '9223372036854775807', '0', '-3']) {
      await twins.ask(who, { line: 'POST /plants', body: `{"id":${id},"name":"Alder"}` });
    }
  }
  await twins.share(bob, ann);
  await twins.askUntil(ann, { line: 'GET /plants?fields=owner' }, /bob/);
  const whole = bodyOf(await twins.ask(ann, { line: 'GET /plants?order=desc&fields=id,owner' }));
  const ids = [...whole.matchAll(/"id":(-?\d+)/g)].map(([, id]) => id);
  const descending = ['9223372036854775807', '5', '0', '-3', '-9223372036854775808'];
  assert.deepEqual(ids, [...descending, ...descending]);
  for (const limit of [1, 3, 5, 10, 500]) {
    const paged = await twins.pages(ann, `/plants?order=desc&limit=${limit}&fields=id,owner`);
    assert.deepEqual(
      [...paged.join().matchAll(/"id":(-?\d+)/g)].map(([, id]) => id),
      ids,
    );
  }
});

test('a list begins at an id, whether or not there is a plant with it, and continues by cursor', async () => {
  const [ann, bob] = [await twins.user('ann of beginnings'), await twins.user('bob of beginnings')];
  for (const id of [-3, 2, 4, 6]) await twins.ask(ann, plant({ id, name: 'Alder' }));
  await twins.ask(bob, plant({ id: 1, name: 'Birch' }));
  await twins.share(bob, ann);
  await twins.askUntil(ann, { line: 'GET /plants?fields=owner' }, /bob/);
  for (const [query, ids] of [
    ['from=4', [4, 6, 1]],
    ['from=3', [4, 6, 1]],
    ['from=3&order=desc', [2, -3, 1]],
    ['from=-9223372036854775808', [-3, 2, 4, 6, 1]],
    ['from=9223372036854775807', [1]],
  ] as const) {
    for (const limit of [1, 2, 100]) {
      const found = itemsOf(await twins.pages(ann, `/plants?${query}&limit=${limit}&fields=id`));
      assert.deepEqual(
        found.map(({ id }) => id),
        ids,
      );
    }
  }
  for (const query of ['from=7.0', 'from=', 'from=9223372036854775808', 'from=1&name=a', 'from=1&cursor=x']) {
    assert.match(await twins.ask(ann, { line: `GET /plants?${query}` }), /"error":40003/);
  }
});

test('long lists in every order are streamed whole, and in pages of hundreds', async () => {
  const ann = await twins.user('ann of long lists');
  for (let made = 0; made < 450; made += 50) {
    await grow(
      ann,
      Array.from({ length: 50 }, (_, n) => `Plant ${(made + n) % 7} ${LONG.slice(0, 200)}`),
    );
  }
  for (const order of ['name=PLANT', 'name=plant%203', 'order=desc']) {
    const whole = itemsOf([await twins.ask(ann, { line: `GET /plants?${order}&fields=id,name` })]);
    assert.equal(new Set(whole.map(({ id }) => id)).size, order.endsWith('3') ? 64 : 450);
    for (const limit of [150, 449, 450, 451]) {
      const paged = await twins.pages(ann, `/plants?${order}&fields=id,name&limit=${limit}`);
      assert.deepEqual(itemsOf(paged), whole);
    }
  }
});

test('lists refuse a name with an order, cursors of other lists and wrong parameters', async () => {
  const ann = await twins.user('ann of refusals');
  await grow(ann, ['Alder', 'alder']);
  const lists = ['', '&name=a', '&name=al', '&order=desc'];
  for (const of of lists) {
    const cursor = placeholder('cursor', await twins.ask(ann, { line: `GET /plants?limit=1${of}` }));
    for (const other of lists) {
      const answer = await twins.ask(ann, { line: `GET /plants?limit=1&cursor=${cursor}${other}` });
      assert.equal(/^\d+/.exec(answer)?.[0], of === other ? '200' : '400');
    }
  }
  for (const query of [
    'name=a&order=desc',
    'order=asc',
    'order=',
    'name=%00',
    `name=${LONG}x`,
    'name=a&name=a',
    'fields=id&fields=id',
  ]) {
    assert.match(await twins.ask(ann, { line: `GET /plants?${query}` }), /"error":40003/);
  }
});

test('deliveries of all webhooks, by webhook, state, plant and time', async () => {
  const ann = await twins.user('ann of all deliveries');
  const hooks: string[] = [];
  for (let n = 0; n < 3; n++) {
    const made = await twins.ask(ann, { line: 'POST /webhooks', body: JSON.stringify({ url: NOWHERE }) });
    hooks.push(/wh#\d+/.exec(made)?.[0] ?? '');
    await twins.ask(ann, { line: `PATCH /webhooks/{${hooks[n]}}`, body: '{"enabled":false}' });
    await grow(ann, ['Alder', 'Beech']);
  }
  const all = itemsOf([await twins.ask(ann, { line: 'GET /deliveries' })]);
  assert.equal(all.length, 6 + 4 + 2);
  for (const limit of [1, 2, 5, 12]) {
    assert.deepEqual(itemsOf(await twins.pages(ann, `/deliveries?limit=${limit}`)), all);
  }
  const [first = ''] = hooks;
  const filtered = async (query: string) => itemsOf(await twins.pages(ann, `/deliveries?limit=2&${query}`));
  assert.deepEqual(
    await filtered(`webhook={${first}}`),
    all.filter(({ webhook }) => webhook === first),
  );
  for (const id of [1, 3, 6]) {
    assert.deepEqual(
      await filtered(`plant=${id}`),
      all.filter(({ plant }) => plant.id === id),
    );
  }
  assert.deepEqual(await filtered('state=held&since=2020-01-01T00:00:00Z&until=2999-01-01T00:00:00Z'), all);
  for (const none of [
    'state=pending',
    'state=failed',
    'webhook=wh_none',
    'webhook=%00',
    'plant=-1',
    'until=2020-01-01T00:00:00Z',
    'since=2999-01-01T00:00:00Z',
  ]) {
    assert.deepEqual(await filtered(none), []);
  }
  for (const wrong of [
    'state=x',
    'plant=01',
    'plant=9223372036854775808',
    'since=today',
    'until=',
    'limit=1001',
    'x=1',
    'webhook=a&webhook=a',
  ]) {
    assert.match(await twins.ask(ann, { line: `GET /deliveries?${wrong}` }), /"error":40003/);
  }
  const cursor = placeholder('cursor', await twins.ask(ann, { line: 'GET /deliveries?limit=1' }));
  for (const other of ['state=held', `webhook={${first}}`, 'plant=1']) {
    assert.match(
      await twins.ask(ann, { line: `GET /deliveries?cursor=${cursor}&${other}` }),
      /"error":40007/,
    );
  }
});

test('a list that the client has already is answered 304', async () => {
  const ann = await twins.user('ann of tags');
  await grow(ann, NAMES);
  for (const query of ['', '?limit=3', '?limit=3&name=al&fields=id,owner']) {
    const etag = placeholder('etag', await twins.ask(ann, { line: `GET /plants${query}` }));
    const fields = [`If-None-Match: W/${etag}`];
    assert.match(await twins.ask(ann, { line: `GET /plants${query}`, fields }), /^304\n/);
    await twins.ask(ann, plant({ name: 'Alder' }));
    assert.match(
      await twins.ask(ann, { line: `GET /plants${query}`, fields }),
      query === '' ? /^200\n/ : /^[23]/,
    );
  }
});
