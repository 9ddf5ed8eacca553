import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventPages } from '../../../src/cli/events.ts';
import { requests } from '../../../src/cli/limits.ts';
import { firstOf } from '../../../src/cli/pages.ts';
import { run } from '../../../testkit/processes/program.ts';
import { dataOf, startRemote, wordsOf } from '../../../testkit/processes/remote.ts';
import { watch } from '../watch.ts';

test('event list shows all events, oldest first, or those since a time', async (t) => {
  const { verb, plant } = await startRemote(t);
  assert.equal(wordsOf(await verb('event', 'list')), 'No events found.\n');
  await plant('{"id":9007199254740993,"name":"Alder","tag":"Alnus"}');
  await plant('{"id":-5,"name":"Birch"}');
  const [headings, ...rows] = dataOf(await verb('event', 'list'))
    .trimEnd()
    .split('\n');
  assert.match(headings ?? '', /^EVENT +TYPE +CREATED +PLANT +NAME +TAG$/);
  const cells = rows.map((row) => row.split(/ {2,}/).slice(3));
  assert.deepEqual(cells, [
    ['9007199254740993', 'Alder', 'Alnus'],
    ['-5', 'Birch'],
  ]);
  const json = dataOf(await verb('event', 'list', '--json'));
  assert.match(json, /"id": 9007199254740993,/);
  const [first, second] = JSON.parse(json);
  assert.deepEqual([first.type, second.plant.name], ['plant.created', 'Birch']);
  assert.equal(dataOf(await verb('event', 'list', '--json', '--since', first.createdAt)), json);
  const later = new Date(Date.parse(second.createdAt) + 1).toISOString();
  assert.equal(dataOf(await verb('event', 'list', '--json', '--since', later)), '[]\n');

  const one = await verb('event', 'list', '--limit', '1', '--json');
  assert.deepEqual([JSON.parse(one.stdout).length, one.stderr.slice(0, 14)], [1, 'There are more']);
});

for (const more of [0, 1]) {
  test(`a list that a full page of events completes knows that ${more} more exist`, async () => {
    const events = Array.from({ length: requests.pageItems + more }, (_, i) => {
      const plant = { id: i, name: 'Alder' };
      return { id: `evt_${i}`, type: 'plant.created' as const, createdAt: '2026-11-21T12:00:00Z', plant };
    });
    const page = async ({ cursor = '0', limit = 100 } = {}) => {
      const items = events.slice(Number(cursor), Number(cursor) + limit);
      return { items, cursor: String(Number(cursor) + items.length) };
    };
    const { signal } = new AbortController();
    let [listed, hasMore] = [0, false];
    const pages = eventPages({ events: { page } }, { signal });
    for await (const { items, next } of firstOf(pages, requests.pageItems)) {
      listed += items.length;
      hasMore = next !== undefined;
    }
    assert.deepEqual([listed, hasMore], [requests.pageItems, more > 0]);
  });
}

test('event watch --since prints earlier events, and then those that arrive', async (t) => {
  const { env, plant } = await startRemote(t);
  await plant('{"name":"Alder"}');
  const watching = watch(['event', 'watch', '--since', '1h'], env);
  await watching.said(/Listening to/);
  await plant('{"name":"Birch"}');
  const lines = await watching.lines(2);
  assert.deepEqual(
    lines.map((line) => line.split('  ').at(-1)),
    ['Alder', 'Birch'],
  );
  watching.signal('SIGINT');
  assert.equal((await watching.ended).code, 130);
});

test('whoami shows the user, the scopes and the service, and refuses a wrong token', async (t) => {
  const { verb, env, service } = await startRemote(t);
  const shown = dataOf(await verb('whoami'));
  assert.match(
    shown,
    /^User +admin\nScopes +plants:read, .*\nExpires +never\nService +http\S+\nToken +PLANT_/,
  );
  assert.equal(JSON.parse(dataOf(await verb('whoami', '--json'))).user, 'admin');
  const { code, stderr } = await run(['whoami'], { ...env, PLANT_STORE_TOKEN: `${service.token}x` });
  assert.deepEqual([code, /error 40101/.test(stderr)], [1, true]);
});
