import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { list as limits } from '../../../src/limits.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';

const service = await startService();
after(() => service.stop());

const create = async (token: string, ...ids: number[]) => {
  for (const id of ids) {
    succeeded(await service.request('POST', '/plants', { token, body: { id, name: `Plant ${id}` } }), 201);
  }
};

const list = (token: string, query: string, known?: string, method = 'GET') =>
  service.request(method, `/plants${query}`, {
    token,
    headers: known === undefined ? {} : { 'if-none-match': known },
  });

async function etagOf(token: string, query: string): Promise<string> {
  const answer = await list(token, query);
  assert.equal(answer.status, 200);
  return answer.headers.get('etag') ?? assert.fail('no ETag');
}

test('an unchanged list is answered 304, with the headers of the list and without its body', async () => {
  const token = await service.tokenFor('unchanged');
  await create(token, 1, 2);
  for (const query of ['', '?limit=1', '?limit=2&fields=id', '?name=plant', '?order=desc']) {
    const whole = await list(token, query);
    for (const method of ['GET', 'HEAD']) {
      const answer = await list(token, query, whole.headers.get('etag') ?? '', method);
      assert.deepEqual([answer.status, answer.text], [304, ''], query);
      for (const name of ['etag', 'link', 'cache-control', 'vary']) {
        assert.equal(answer.headers.get(name), whole.headers.get(name), `${query} ${name}`);
      }
      assert.equal(answer.headers.get('content-type'), null);
      assert.equal(answer.headers.get('content-length'), null);
    }
  }
});

test('If-None-Match is a list of tags, weak or strong, or any', async () => {
  const token = await service.tokenFor('forms');
  await create(token, 1);
  const etag = await etagOf(token, '');
  for (const known of [`W/${etag}`, `"other", ${etag}`, `${etag},W/"x"`, `"a,b" , W/${etag}`, '*']) {
    assert.equal((await list(token, '', known)).status, 304, known);
  }
  for (const known of ['"other"', etag.slice(1, -1), etag.toUpperCase(), '"*"', '']) {
    assert.equal((await list(token, '', known)).status, 200, known);
  }
});

test('every change of the list changes its tag, and undoing it brings the tag back', async () => {
  const token = await service.tokenFor('changed');
  await create(token, 1);
  const before = await etagOf(token, '?limit=1');
  // Only the Link shows it.
  await create(token, 2);
  const answer = await list(token, '?limit=1', before);
  assert.deepEqual([answer.status, answer.text], [200, '[{"name":"Plant 1"}]']);
  assert.notEqual(answer.headers.get('etag'), before);
  await service.request('DELETE', '/plants/2', { token });
  assert.equal((await list(token, '?limit=1', before)).status, 304);
});

test('only a list has a tag: not a failure, nor a list that is streamed', async () => {
  const token = await service.tokenFor('long');
  const wanted = Array.from({ length: limits.firstPlants + 1 }, (_, i) => i + 1);
  await Promise.all(wanted.map((id) => create(token, id)));
  const streamed = await list(token, '', '*');
  assert.deepEqual([streamed.status, JSON.parse(streamed.text).length], [200, wanted.length]);
  assert.equal(streamed.headers.get('etag'), null);
  failed(await list(token, '?limit=0', '*'), 40003);
  failed(await list('unknown', '', '*'), 40101);
});
