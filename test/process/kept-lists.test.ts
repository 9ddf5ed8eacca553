import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePlace } from '../../testkit/processes/place.ts';
import type { Server } from '../../testkit/processes/server.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { failed, succeeded } from '../../testkit/service/answer.ts';

const CREATES = 1_000;

/** The highest ids; requested again and again, so that the service keeps this list. */
const newest = async (server: Server, token?: string): Promise<number[]> => {
  const request = token === undefined ? {} : { token };
  const answer = await server.request('GET', '/plants?order=desc&limit=5&fields=id', request);
  // The service answered what it was asked for.
  return (succeeded(answer, 200) as { id: number }[]).map(({ id }) => id);
};

test('whoever was answered 201, or received a delivery, sees the plant in the next list', async (t) => {
  const place = await makePlace(t);
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const server = await place.serve({ env: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' } });
  succeeded(await server.request('POST', '/webhooks', { body: { url: receiver.url } }), 201);
  const wrong: string[] = [];
  const sees = async (id: number, when: string) => {
    const [highest = 0] = await newest(server);
    if (highest < id) wrong.push(`${highest} instead of ${id} after ${when}`);
  };
  const looks: Promise<void>[] = [];
  receiver.usually(({ body }, response) => {
    looks.push(sees(JSON.parse(body.toString()).id, 'a delivery'));
    response.writeHead(204).end();
  });
  let isOver = false;
  const load = async () => {
    while (!isOver) await newest(server);
  };
  const loads = [load(), load(), load()];
  for (let id = 1; id <= CREATES; id++) {
    succeeded(await server.request('POST', '/plants', { body: { id, name: `Plant ${id}` } }), 201);
    await sees(id, 'its answer');
  }
  await receiver.receive(CREATES);
  isOver = true;
  await Promise.all([...loads, ...looks]);
  assert.deepEqual(wrong, []);
});

test('what the command line changes beside the service shows in the next list', async (t) => {
  const place = await makePlace(t);
  const server = await place.serve();
  succeeded(await server.request('POST', '/plants', { body: { id: 1, name: 'Alder' } }), 201);
  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await place.command(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  await command('user', 'create', 'bob');
  const token = /pst_\w+/.exec(await command('token', 'create', '--user', 'bob'))?.[0];
  for (let i = 0; i < 3; i++) assert.deepEqual(await newest(server, token), []);
  await command('share', 'add', '--owner', 'admin', '--viewer', 'bob');
  for (let i = 0; i < 3; i++) assert.deepEqual(await newest(server, token), [1]);
  place.write('UPDATE plants SET id = 2');
  for (let i = 0; i < 3; i++) assert.deepEqual(await newest(server, token), [2]);
  await command('share', 'remove', '--owner', 'admin', '--viewer', 'bob');
  assert.deepEqual(await newest(server, token), []);
  await command('user', 'disable', 'bob');
  const refused = await server.request('GET', '/plants', token === undefined ? {} : { token });
  assert.equal(refused.status, 401);

  await t.test(
    'a user and a token created on the command line are accepted by the running server at once',
    async () => {
      assert.equal((await place.command('user', 'create', 'ann')).code, 0);
      const made = await place.command('token', 'create', '--user', 'ann', '--scopes', 'plants:read');
      const token = made.stdout.trim();
      assert.deepEqual(succeeded(await server.request('GET', '/plants', { token }), 200), []);
      failed(await server.request('POST', '/plants', { token, body: { name: 'Alder' } }), 40300);
    },
  );

  await t.test(
    'a token revoked on the command line is refused on the next request to the running server',
    async () => {
      await place.command('user', 'create', 'eve');
      const made = await place.command('token', 'create', '--user', 'eve');
      const token = made.stdout.trim();
      // The server caches the token's user.
      succeeded(await server.request('GET', '/plants', { token }), 200);

      const id = /tok_\w+/.exec(made.stderr)?.[0] ?? '';
      assert.equal((await place.command('token', 'revoke', id)).code, 0);
      failed(await server.request('GET', '/plants', { token }), 40101);
      succeeded(await server.request('GET', '/plants'), 200);
    },
  );
});
