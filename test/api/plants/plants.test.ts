import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { storePath } from '../../../src/config/config.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';

const service = await startService();
after(() => service.stop());

const create = (body: unknown, token = service.token) => service.request('POST', '/plants', { body, token });
const remove = (id: string, token = service.token) => service.request('DELETE', `/plants/${id}`, { token });
const everything = async (token: string) =>
  succeeded(await service.request('GET', '/plants?fields=id,name,tag', { token }), 200);

/** Creates a plant and returns its id. */
async function created(body: unknown, token: string): Promise<string | undefined> {
  const answer = await create(body, token);
  succeeded(answer, 201);
  return answer.headers.get('location')?.replace(/^\/plants\//, '');
}

test('creating a plant returns its name, tag and location', async () => {
  const token = await service.tokenFor('creator');
  const answer = await create({ name: 'Alder', id: 7, tag: 'Alnus' }, token);
  assert.deepEqual(succeeded(answer, 201), { name: 'Alder', tag: 'Alnus' });
  assert.equal(answer.headers.get('location'), '/plants/7');
  assert.deepEqual(await everything(token), [{ id: 7, name: 'Alder', tag: 'Alnus' }]);
});

test('a plant without a tag has no tag member anywhere, one with an empty tag has it', async () => {
  const token = await service.tokenFor('untagged');
  assert.deepEqual(succeeded(await create({ name: 'Birch' }, token), 201), { name: 'Birch' });
  assert.deepEqual(succeeded(await create({ name: 'Cedar', tag: '' }, token), 201), {
    name: 'Cedar',
    tag: '',
  });
  const listed = succeeded(await service.request('GET', '/plants', { token }), 200);
  assert.deepEqual(listed, [{ name: 'Birch' }, { name: 'Cedar', tag: '' }]);
});

test('every 64-bit id is kept to the last digit, and its plant can be deleted by it', async () => {
  const token = await service.tokenFor('exact');
  const ids = [
    '-9223372036854775808',
    '-9007199254740993',
    '-1',
    '0',
    '9007199254740993',
    '9223372036854775806',
    '9223372036854775807',
  ];
  for (const id of ids) assert.equal(await created(`{"name":"Dogwood","id":${id}}`, token), id);
  const listed = await service.request('GET', '/plants?fields=id', { token });
  assert.equal(listed.text, `[${ids.map((id) => `{"id":${id}}`).join(',\n')}]`);
  for (const id of ids) succeeded(await remove(id, token), 204);
  assert.deepEqual(await everything(token), []);
});

test('an id may be written as any JSON number whose value is an integer', async () => {
  const token = await service.tokenFor('notations');
  const spellings: [string, string][] = [
    ['7.0', '7'],
    ['8e0', '8'],
    ['90E-1', '9'],
    ['-0', '0'],
    ['1e18', '1000000000000000000'],
    ['9223372036854775807.000', '9223372036854775807'],
    ['-9.223372036854775808e18', '-9223372036854775808'],
  ];
  for (const [spelling, id] of spellings) {
    assert.equal(await created(`{"name":"Elm","id":${spelling}}`, token), id, spelling);
  }
});

test('without an id the plant gets the next free one', async () => {
  const token = await service.tokenFor('numbered');
  assert.equal(await created({ name: 'Fir' }, token), '1');
  assert.equal(await created({ name: 'Fir' }, token), '2');
  assert.equal(await created({ name: 'Fir', id: 40 }, token), '40');
  assert.equal(await created({ name: 'Fir', id: 3 }, token), '3');
  assert.equal(await created({ name: 'Fir' }, token), '4');
  assert.equal(await created('{"name":"Fir","id":9223372036854775807}', token), '9223372036854775807');
  assert.equal(await created({ name: 'Fir' }, token), '5');
});

test('concurrently created plants get different ids', async () => {
  const token = await service.tokenFor('simultaneous');
  const ids = await Promise.all(Array.from({ length: 60 }, () => created({ name: 'Fir' }, token)));
  const sorted = ids.map(Number).sort((a, b) => a - b);
  assert.deepEqual(
    sorted,
    Array.from({ length: 60 }, (_, index) => index + 1),
  );
});

test('a second plant with a taken id changes nothing and creates no event', async () => {
  const token = await service.tokenFor('duplicates');
  const events = () => {
    const db = new DatabaseSync(storePath(service.dataDir), { readOnly: true });
    const owner = 'SELECT id FROM users WHERE name = ?';
    const row = db.prepare(`SELECT count(*) AS n FROM events WHERE owner = (${owner})`).get('duplicates');
    db.close();
    return row?.n;
  };
  await created({ name: 'Ginkgo', id: 3, tag: 'first' }, token);
  failed(await create({ name: 'Other', id: 3, tag: 'second' }, token), 40900, /\b3\b/);
  failed(await create({ name: 'Ginkgo', id: 3, tag: 'first' }, token), 40900);
  assert.deepEqual(await everything(token), [{ id: 3, name: 'Ginkgo', tag: 'first' }]);
  assert.equal(events(), 1);
});

test('of concurrent creates with one id exactly one succeeds', async () => {
  const token = await service.tokenFor('race');
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => create({ name: `Hazel ${index}`, id: 1 }, token)),
  );
  const winners = answers.filter((answer) => answer.status === 201);
  assert.equal(winners.length, 1);
  for (const answer of answers) if (answer.status !== 201) failed(answer, 40900);
  assert.deepEqual(await everything(token), [{ id: 1, ...JSON.parse(winners[0]?.text ?? '') }]);
});

test('two users may both have a plant 1, and neither can delete the other’s', async () => {
  const [ann, bob] = [await service.tokenFor('ann'), await service.tokenFor('bob')];
  await created({ name: 'Ivy of Ann', id: 1 }, ann);
  failed(await remove('1', bob), 40401);
  await created({ name: 'Ivy of Bob', id: 1 }, bob);
  succeeded(await remove('1', bob), 204);
  failed(await remove('1', bob), 40401);
  assert.deepEqual(await everything(ann), [{ id: 1, name: 'Ivy of Ann' }]);
  assert.deepEqual(await everything(bob), []);
});

test('deleting a plant answers without a body, and 404 the second time', async () => {
  const token = await service.tokenFor('remover');
  await created({ name: 'Kapok', id: -5 }, token);
  const answer = await remove('-5', token);
  succeeded(answer, 204);
  assert.equal(answer.headers.get('content-type'), null);
  failed(await remove('-5', token), 40401);
  assert.equal(await created({ name: 'Kapok again', id: -5 }, token), '-5');
});

test('an id in the path may be percent-encoded', async () => {
  const token = await service.tokenFor('encoded');
  for (const spelling of ['%37', '%2D%35', '1%30', '-%35']) {
    const id = decodeURIComponent(spelling);
    await created(`{"name":"Larch","id":${id}}`, token);
    succeeded(await remove(spelling, token), 204);
    failed(await remove(id, token), 40401);
  }
});

test('an id in the path that is not canonical is refused', async () => {
  const wrong = [
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
    '٧',
  ];
  const ranges = [
    '9223372036854775808',
    '-9223372036854775809',
    '1'.repeat(60),
    'NaN',
    'null',
    '7;',
    '%00',
    '7%00',
  ];
  for (const id of [...wrong, ...ranges]) failed(await remove(id), 40004, /64-bit integer in canonical form/);
});

test('create and delete accept no query parameters', async () => {
  failed(await service.request('POST', '/plants?limit=1', { body: { name: 'Maple' } }), 40003, /"limit"/);
  failed(await service.request('DELETE', '/plants/1?force=1'), 40003, /"force"/);
});
