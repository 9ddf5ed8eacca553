import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startReceiver } from '../../../testkit/receivers/receiver.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { follow } from '../../../testkit/service/follower.ts';
import { type Service, startService } from '../../../testkit/service/service.ts';

describe('shared plants', () => {
  let service: Service;
  before(async () => {
    service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
  });
  after(() => service.stop());

  const share = (owner: string, viewer: string) =>
    service.beside(({ store }) => store.access.addShare({ owner, viewer, at: Date.now() }, 100));
  const unshare = (owner: string, viewer: string) =>
    service.beside(({ store }) => store.access.removeShare({ owner, viewer }));

  async function add(token: string, name: string, id: number): Promise<void> {
    succeeded(await service.request('POST', '/plants', { token, body: { name, id } }), 201);
  }

  async function names(token: string, query = ''): Promise<string[]> {
    const answer = await service.request('GET', `/plants${query}`, { token });
    return (succeeded(answer, 200) as { name: string }[]).map(({ name }) => name);
  }

  test('the list shows them after the user’s own, with their owner, until the share ends', async () => {
    const [ann, bob] = [await service.tokenFor('ann'), await service.tokenFor('bob')];
    await add(ann, 'Alder', 1);
    await add(bob, 'Birch', 9);
    await share('ann', 'bob');
    assert.deepEqual(await names(bob), ['Birch', 'Alder']);
    const answer = await service.request('GET', '/plants?fields=owner,id', { token: bob });
    assert.deepEqual(JSON.parse(answer.text), [
      { owner: 'bob', id: 9 },
      { owner: 'ann', id: 1 },
    ]);
    assert.deepEqual(await names(ann), ['Alder']);
    failed(await service.request('DELETE', '/plants/1', { token: bob }), 40401);
    await unshare('ann', 'bob');
    assert.deepEqual(await names(bob), ['Birch']);
  });

  test('paging visits own and shared plants, each once', async () => {
    const viewer = await service.tokenFor('walker');
    const expected: string[] = [];
    for (const owner of ['walker', 'walker-a', 'walker-b', 'walker-c']) {
      const token = await service.tokenFor(owner);
      for (let id = 1; id <= 3; id++) {
        await add(token, `${owner} ${id}`, id);
        expected.push(`${owner} ${id}`);
      }
      if (owner !== 'walker') await share(owner, 'walker');
    }
    for (const limit of [1, 2, 3, 5, 11, 12, 5000]) {
      const seen: string[] = [];
      let next: string | undefined = `/plants?limit=${limit}`;
      while (next !== undefined) {
        const answer = await service.request('GET', next, { token: viewer });
        seen.push(...(succeeded(answer, 200) as { name: string }[]).map(({ name }) => name));
        next = /^<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1];
      }
      assert.deepEqual(seen, expected, `limit ${limit}`);
    }
  });

  test('a long list is streamed across owners', async () => {
    const tokens = [await service.tokenFor('long'), await service.tokenFor('long-a')];
    await service.beside(async ({ store, runtime }) => {
      const users = await store.access.users();
      for (const name of ['long', 'long-a']) {
        const owner = users.find((user) => user.name === name)?.id ?? 0;
        const made = Array.from({ length: 1501 }, (_, i) =>
          store.plants.create({
            owner,
            id: BigInt(i),
            name: `${name} ${i}`,
            tag: undefined,
            event: runtime.ids.next('evt'),
            at: 0,
          }),
        );
        await Promise.all(made);
      }
    });
    await share('long-a', 'long');
    const all = await names(tokens[0] ?? '');
    assert.equal(all.length, 3002);
    assert.equal(new Set(all).size, 3002);
    assert.deepEqual([all[0], all[1501], all.at(-1)], ['long 0', 'long-a 0', 'long-a 1500']);
    assert.equal((await names(tokens[0] ?? '', '?limit=2500')).length, 2500);
  });

  test('a cursor stays valid after its owner stops sharing', async () => {
    const viewer = await service.tokenFor('cutter');
    for (const owner of ['cutter-a', 'cutter-b']) {
      const token = await service.tokenFor(owner);
      for (let id = 1; id <= 2; id++) await add(token, `${owner} ${id}`, id);
      await share(owner, 'cutter');
    }
    const answer = await service.request('GET', '/plants?limit=1', { token: viewer });
    const next = /^<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1] ?? '';
    await unshare('cutter-a', 'cutter');
    const following = await service.request('GET', next, { token: viewer });
    assert.deepEqual(
      (succeeded(following, 200) as { name: string }[]).map(({ name }) => name),
      ['cutter-b 1'],
    );
    await service.beside(async ({ store }) => {
      await store.access.deleteUser('cutter-a', 0);
      while (await store.chores.hasChores(0)) await store.chores.advance({ now: 0, limit: 500 });
    });
    failed(await service.request('GET', next, { token: viewer }), 40007, /no longer exists/);
  });

  test('feed, stream and webhooks of the viewer get what the owner adds, until the share ends', async () => {
    const [owner, viewer] = [await service.tokenFor('giver'), await service.tokenFor('taker')];
    const receiver = await startReceiver();
    try {
      const body = { url: receiver.url };
      succeeded(await service.request('POST', '/webhooks', { token: viewer, body }), 201);
      await share('giver', 'taker');
      const follower = await follow(service, viewer);
      await add(owner, 'Shared', 1);
      assert.equal((await follower.event()).data.plant.name, 'Shared');
      const [sent] = await receiver.receive(1);
      assert.deepEqual(JSON.parse(String(sent?.body)), { id: 1, name: 'Shared' });

      await unshare('giver', 'taker');
      await add(owner, 'Private', 2);
      await add(viewer, 'Own', 1);
      assert.equal((await follower.event()).data.plant.name, 'Own');
      const [, own] = await receiver.receive(2);
      assert.deepEqual(JSON.parse(String(own?.body)), { id: 1, name: 'Own' });
      follower.close();
      const feed = await service.request('GET', '/events', { token: viewer });
      const seen = JSON.parse(feed.text).events.map(({ plant }: { plant: { name: string } }) => plant.name);
      assert.deepEqual(seen, ['Own']);
    } finally {
      await receiver.stop();
    }
  });
});
