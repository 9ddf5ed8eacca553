import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';
import { exchange } from '../../../testkit/sockets/raw-client.ts';

const service = await startService();
after(() => service.stop());

const list = (query: string, token: string) => service.request('GET', `/plants${query}`, { token });

async function create(token: string, ...ids: (number | bigint)[]): Promise<void> {
  for (const id of ids) {
    const body = `{"name":"Plant ${id}","id":${id}}`;
    succeeded(await service.request('POST', '/plants', { body, token }), 201);
  }
}

async function remove(token: string, ...ids: number[]): Promise<void> {
  for (const id of ids) succeeded(await service.request('DELETE', `/plants/${id}`, { token }), 204);
}

/** One page and the path of the next; undefined on the last page. */
async function page(path: string, token: string): Promise<{ plants: unknown; next: string | undefined }> {
  const answer = await service.request('GET', path, { token });
  const plants = succeeded(answer, 200);
  const link = answer.headers.get('link');
  if (link === null) return { plants, next: undefined };
  const [, next] = /^<(\/plants\?[^>]+)>; rel="next"$/.exec(link) ?? [];
  assert.ok(next !== undefined, link);
  return { plants, next };
}

/** The plants of each page; `between` runs after each page. */
async function walk(path: string, token: string, between = async (_pages: number) => {}): Promise<unknown[]> {
  const pages: unknown[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const found = await page(next, token);
    pages.push(found.plants);
    await between(pages.length);
    next = found.next;
  }
  return pages;
}

const withIds = (...ids: number[]) => ids.map((id) => ({ id }));
const cursorOf = (path: string | undefined) =>
  new URL(path ?? '', 'http://x').searchParams.get('cursor') ?? '';

test('a user without plants gets an empty array', async () => {
  const answer = await list('', await service.tokenFor('empty'));
  assert.equal(answer.text, '[]');
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.equal(answer.headers.get('link'), null);
});

test('plants are listed by ascending id, each with only name and tag', async () => {
  const token = await service.tokenFor('ordered');
  await create(token, 10, -3, 0, 9223372036854775807n, 2, -9223372036854775808n);
  const names = ['-9223372036854775808', '-3', '0', '2', '10', '9223372036854775807'];
  const expected = names.map((id) => ({ name: `Plant ${id}` }));
  assert.deepEqual(succeeded(await list('', token), 200), expected);
  assert.deepEqual(succeeded(await list('?limit=6', token), 200), expected);
});

test('nobody sees the plants of another user', async () => {
  const [owner, other] = [await service.tokenFor('owner'), await service.tokenFor('other')];
  await create(owner, 1, 2);
  await create(other, 5);
  assert.deepEqual(succeeded(await list('?fields=id,owner', other), 200), [{ id: 5, owner: 'other' }]);
});

test('a limit caps the list, and Link is set exactly when there are more', async () => {
  const token = await service.tokenFor('limited');
  await create(token, 1, 2, 3);
  for (const limit of [1, 2]) {
    const { plants, next } = await page(`/plants?limit=${limit}&fields=id`, token);
    assert.deepEqual(plants, withIds(1, 2).slice(0, limit));
    assert.ok(next !== undefined);
  }
  for (const limit of [3, 4, 500, 501, 2147483647]) {
    const { plants, next } = await page(`/plants?limit=${limit}&fields=id`, token);
    assert.deepEqual(plants, withIds(1, 2, 3));
    assert.equal(next, undefined);
  }
});

test('a limit outside of 1 to 2147483647, or not in canonical form, is refused', async () => {
  const numbers = [
    '0',
    '-1',
    '2147483648',
    '9223372036854775808',
    '1.0',
    '1e2',
    '01',
    '%2B1',
    '0x1',
    '1'.repeat(400),
  ];
  for (const limit of [...numbers, '', '%201', '1%20', '+1', 'ten', 'null', 'NaN', '١', '1,2', '%00']) {
    failed(
      await list(`?limit=${limit}`, service.token),
      40003,
      /"limit" must be an integer from 1 to 2147483647/,
    );
  }
});

test('the next link keeps the limit and the fields', async () => {
  const token = await service.tokenFor('kept');
  await create(token, 1, 2, 3);
  assert.deepEqual(await walk('/plants?fields=tag,id&limit=2', token), [withIds(1, 2), withIds(3)]);
});

test('paging visits each plant that exists throughout exactly once', async () => {
  const token = await service.tokenFor('walker');
  await create(token, 10, 20, 30, 40, 50, 60);
  const pages = await walk('/plants?limit=2&fields=id', token, async (count) => {
    if (count === 1) await create(token, 5, 35);
    // The plant at the cursor and the one before it are deleted.
    if (count === 2) await remove(token, 35, 40, 10);
    if (count === 2) await create(token, 65);
  });
  assert.deepEqual(pages, [withIds(10, 20), withIds(30, 35), withIds(50, 60), withIds(65)]);
});

test('paging ends at the largest id', async () => {
  const token = await service.tokenFor('to-the-end');
  await create(token, -9223372036854775808n, 0, 9223372036854775807n);
  assert.equal((await walk('/plants?limit=1', token)).length, 3);
});

test('a cursor without a limit returns all the rest', async () => {
  const token = await service.tokenFor('resumed');
  await create(token, 1, 2, 3, 4);
  const { next } = await page('/plants?limit=1&fields=id', token);
  const answer = await list(`?fields=id&cursor=${cursorOf(next)}`, token);
  assert.deepEqual(succeeded(answer, 200), withIds(2, 3, 4));
});

test('a cursor that this service did not give to this user is refused', async () => {
  const [owner, other] = [await service.tokenFor('cursor-owner'), await service.tokenFor('cursor-thief')];
  await create(owner, 1, 2, 3);
  const cursor = cursorOf((await page('/plants?limit=1', owner)).next);
  succeeded(await list(`?cursor=${cursor}`, owner), 200);
  failed(await list(`?cursor=${cursor}`, other), 40007);
  failed(await list(`?cursor=${cursor}`, service.token), 40007);

  const [own = '', id = '', proof = ''] = cursor.split('.');
  // A CRC is linear: the effect of a changed position does not depend on the key. The next user is the thief.
  const forged = [Number(own) - 1, Number(own) + 1].map((user) => {
    const change = crc32(`${own}.${id}`) ^ crc32(`${user}.${id}`);
    return `${user}.${id}.${(Number(proof) ^ change) >>> 0}`;
  });
  const altered = Array.from(
    cursor,
    (_, at) => cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1),
  );
  const texts = [
    'x',
    'AAAA',
    `${cursor}A`,
    `${cursor}=`,
    cursor.slice(0, -1),
    cursor.replaceAll('.', '-'),
    '%00',
    `${cursor}%20`,
  ];
  for (const text of [...forged, ...altered, ...texts]) {
    failed(await list(`?limit=1&cursor=${text}`, owner), 40007, /cursor/);
  }
  for (const text of ['', 'A'.repeat(129), 'A'.repeat(5000)]) {
    failed(await list(`?cursor=${text}`, owner), 40007, /cursor/);
  }
});

test('fields selects the members of each plant', async () => {
  const token = await service.tokenFor('fielder');
  succeeded(
    await service.request('POST', '/plants', { body: '{"name":"Oak","tag":"Quercus","id":1}', token }),
    201,
  );
  succeeded(await service.request('POST', '/plants', { body: '{"name":"Pine","id":2}', token }), 201);
  const expected: [string, unknown[]][] = [
    ['id', [{ id: 1 }, { id: 2 }]],
    ['name', [{ name: 'Oak' }, { name: 'Pine' }]],
    ['tag', [{ tag: 'Quercus' }, {}]],
    ['owner', [{ owner: 'fielder' }, { owner: 'fielder' }]],
    ['name,tag', [{ name: 'Oak', tag: 'Quercus' }, { name: 'Pine' }]],
    [
      'owner,tag,name,id',
      [
        { id: 1, name: 'Oak', tag: 'Quercus', owner: 'fielder' },
        { id: 2, name: 'Pine', owner: 'fielder' },
      ],
    ],
    [
      'id%2Cname',
      [
        { id: 1, name: 'Oak' },
        { id: 2, name: 'Pine' },
      ],
    ],
  ];
  for (const [fields, plants] of expected) {
    assert.deepEqual(succeeded(await list(`?fields=${fields}`, token), 200), plants, fields);
    assert.deepEqual(succeeded(await list(`?limit=10&fields=${fields}`, token), 200), plants, fields);
  }
});

test('fields that do not exist, or appear twice, are refused', async () => {
  for (const fields of [
    '',
    ',',
    'colour',
    'id,',
    ',id',
    'id,id',
    'ID',
    'id name',
    'id,%20name',
    '*',
    '__proto__',
  ]) {
    failed(await list(`?fields=${fields}`, service.token), 40003, /"fields" must be/);
  }
});

test('an unknown, repeated or malformed query parameter is refused', async () => {
  const unknown = [
    '?page=1',
    '?Limit=1',
    '?limit[]=1',
    '?limit%00=1',
    '?__proto__=1',
    '?constructor=1',
    '?limit=1&x',
  ];
  for (const query of unknown) failed(await list(query, service.token), 40003, /is unknown/);
  for (const query of ['?limit=1&limit=1', '?limit=1&limit=2', '?limit=1&%6cimit=1', '?name=a&name=a']) {
    failed(await list(query, service.token), 40003, /more than once/);
  }
  for (const query of [
    '?&',
    '?limit=1&',
    '?&limit=1',
    '?=1',
    '?limit',
    '?limit=%',
    '?limit=%ff',
    '?%=1',
    '?%c3=1',
  ]) {
    failed(await list(query, service.token), 40003);
  }
  succeeded(await list('?', service.token), 200);
});

test('HEAD answers like GET, without the body', async () => {
  const token = await service.tokenFor('header');
  await create(token, 1, 2);
  // The repeated ones come from memory.
  for (const query of ['', '?limit=1', '?limit=2', '?limit=1', '']) {
    const [head, get] = [
      await service.request('HEAD', `/plants${query}`, { token }),
      await service.request('GET', `/plants${query}`, { token }),
    ];
    assert.equal(head.status, 200);
    assert.equal(head.text, '');
    for (const name of ['content-type', 'link', 'etag', 'cache-control', 'content-length']) {
      assert.equal(head.headers.get(name), get.headers.get(name), `${query} ${name}`);
    }
  }
  assert.equal((await service.request('HEAD', '/plants?limit=0', { token })).status, 400);
  assert.equal((await service.request('HEAD', '/plants', { token: null })).status, 401);
});

test('HTTP/1.0 gets the list too, ended by the connection or the length', async () => {
  const token = await service.tokenFor('old');
  await create(token, 1);
  const answer = await exchange(
    service.port,
    `GET /plants HTTP/1.0\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  assert.deepEqual(succeeded(answer, 200), [{ name: 'Plant 1' }]);
  assert.equal(answer.headers.get('transfer-encoding'), null);
});
