import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Scope } from '../../../src/access/scopes.ts';
import { startIdentityProvider } from '../../../testkit/identity/identity-provider.ts';
import { type Answer, failed, succeeded } from '../../../testkit/service/answer.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { type RequestOptions, startService } from '../../../testkit/service/service.ts';
import { openRaw } from '../../../testkit/sockets/raw-client.ts';
import { head } from '../../../testkit/sockets/raw-request.ts';

type Token = {
  id: string;
  label: string;
  scopes: Scope[];
  createdAt: string;
  expiresAt?: string;
  lastUsedOn?: string;
  token?: string;
  overlapUntil?: string;
};

const provider = await startIdentityProvider(['iris']);
const service = await startService(provider.settings);
after(async () => {
  await service.stop();
  await provider.stop();
});

// The members are those of the OpenAPI document, with which the answers are compared elsewhere.
const bodyOf = (answer: Answer, status: number) => succeeded(answer, status) as Token;
const create = (token: string, body: object = {}, options: RequestOptions = {}) =>
  service.request('POST', '/tokens', { token, body, ...options });
const made = async (token: string, body: object = {}) => {
  const { token: text, ...rest } = bodyOf(await create(token, body), 201);
  assert.ok(text !== undefined);
  return { ...rest, token: text };
};
const rotate = (token: string, id: string, body: object = {}, options: RequestOptions = {}) =>
  service.request('POST', `/tokens/${id}/rotate`, { token, body, ...options });
const revoke = (token: string, id: string) => service.request('DELETE', `/tokens/${id}`, { token });
const listed = async (token: string) =>
  succeeded(await service.request('GET', '/tokens', { token }), 200) as Token[];
const plants = (token: string) => service.request('GET', '/plants', { token });

test('a created token works, is listed without itself, and is refused once it is revoked', async () => {
  const ann = await service.tokenFor('ann');
  const answer = await create(ann, { label: 'import', scopes: ['plants:write', 'plants:read'] });
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  const { token = '', ...created } = bodyOf(answer, 201);
  assert.match(token, /^pst_[0-9A-Za-z]{38}$/);
  assert.deepEqual(created.scopes, ['plants:read', 'plants:write']);
  assert.deepEqual((await listed(ann)).at(-1), created);
  succeeded(await plants(token), 200);
  succeeded(await revoke(ann, created.id), 204);
  failed(await plants(token), 40101);
  failed(await revoke(ann, created.id), 40404);
  assert.ok(!(await listed(ann)).some(({ id }) => id === created.id));
});

test('the day of the last use is listed', async () => {
  const ann = await service.tokenFor('user of days');
  const { id, token } = await made(ann);
  assert.equal((await listed(ann)).find((one) => one.id === id)?.lastUsedOn, undefined);
  succeeded(await plants(token), 200);
  const day = await eventually(
    'last use',
    async () => (await listed(ann)).find((one) => one.id === id)?.lastUsedOn,
  );
  assert.match(day, /^\d{4}-\d\d-\d\d$/);
  assert.ok(Math.abs(Date.parse(day) - Date.now()) < 2 * 86_400_000);
});

test('a token gives others what it has itself, and no more', async () => {
  const ann = await service.tokenFor('cautious');
  const narrow = await made(ann, { scopes: ['plants:read', 'tokens:write'], expiresIn: 600 });
  const same = await made(narrow.token);
  assert.deepEqual([same.scopes, same.expiresAt], [narrow.scopes, narrow.expiresAt]);
  assert.ok((await made(narrow.token, { expiresIn: 60 })).expiresAt);
  const refusal = await create(narrow.token, { scopes: ['plants:read', 'plants:write'] });
  failed(refusal, 40300, /plants:write/);
  const challenge = 'Bearer realm="plant-store", error="insufficient_scope", scope="plants:write"';
  assert.equal(refusal.headers.get('www-authenticate'), challenge);
  failed(await create(narrow.token, { expiresIn: 601 }), 40300, /creates or rotates must expire by then/);
});

test('a token rotates only tokens that have no more than itself', async () => {
  const ann = await service.tokenFor('rotating');
  const narrow = await made(ann, { scopes: ['plants:read', 'tokens:write'], expiresIn: 600 });
  const wide = await made(ann, { expiresIn: 60 });
  const lasting = await made(ann, { scopes: ['plants:read'] });
  const brief = await made(ann, { scopes: ['plants:read'], expiresIn: 60 });
  failed(await rotate(narrow.token, wide.id), 40300, /plants:write/);
  failed(await rotate(narrow.token, lasting.id), 40300, /creates or rotates must expire by then/);
  bodyOf(await rotate(narrow.token, brief.id), 200);
  bodyOf(await rotate(ann, wide.id), 200);
});

test('a token that expires cannot give itself more time by rotation', async () => {
  const ann = await service.tokenFor('eternal');
  const first = await made(ann, { expiresIn: 600 });
  const second = bodyOf(await rotate(first.token, first.id, { overlap: 0 }), 200);
  assert.equal(second.expiresAt, first.expiresAt);
  failed(await plants(first.token), 40102);
  succeeded(await plants(second.token ?? ''), 200);
  const third = bodyOf(await rotate(ann, second.id), 200);
  assert.ok(Date.parse(third.expiresAt ?? '') > Date.parse(first.expiresAt ?? '') - 600_000);
});

test('both tokens work during the overlap, and a token is rotated once', async () => {
  const ann = await service.tokenFor('overlapping');
  const { id, token } = await made(ann, { label: 'x' });
  const rotated = bodyOf(await rotate(ann, id), 200);
  assert.equal(rotated.label, 'x');
  assert.equal(Date.parse(rotated.overlapUntil ?? '') - Date.parse(rotated.createdAt), 86_400_000);
  succeeded(await plants(token), 200);
  succeeded(await plants(rotated.token ?? ''), 200);
  failed(await rotate(ann, id), 40902, new RegExp(rotated.id));
  assert.equal((await listed(ann)).find((one) => one.id === id)?.expiresAt, rotated.overlapUntil);
});

test('of several rotations at the same time one succeeds', async () => {
  const ann = await service.tokenFor('hasty');
  const { id, token } = await made(ann);
  const answers = await Promise.all([rotate(ann, id), rotate(token, id), rotate(ann, id), rotate(token, id)]);
  const [rotated, ...others] = answers.sort((a, b) => a.status - b.status);
  assert.ok(rotated);
  bodyOf(rotated, 200);
  for (const other of others) failed(other, 40902);
  assert.equal((await listed(ann)).length, 3);
});

test('a token that is revoked while it creates and rotates leaves no error and works no more', async () => {
  const ann = await service.tokenFor('thief');
  for (let n = 0; n < 5; n++) {
    const { id, token } = await made(ann);
    const [revoked, ...answers] = await Promise.all([
      revoke(ann, id),
      create(token),
      rotate(token, id),
      create(token),
    ]);
    succeeded(revoked, 204);
    for (const answer of answers) {
      if (answer.status < 300) assert.ok(bodyOf(answer, answer.status).token);
      else assert.ok([40101, 40404].includes(JSON.parse(answer.text).error), answer.text);
    }
    failed(await create(token), 40101);
    for (const one of (await listed(ann)).slice(1)) succeeded(await revoke(ann, one.id), 204);
  }
});

test('a token that is revoked while a body arrives writes nothing, and gets no answer that is kept', async () => {
  const ann = await service.tokenFor('slow');
  const { id, token } = await made(ann);
  const headers = { 'idempotency-key': 'once' };
  const webhook = { url: 'https://plants.invalid/' };
  succeeded(await service.request('POST', '/webhooks', { token, body: webhook, headers }), 201);
  const requests = [
    ['POST /plants', { name: 'Alder' }],
    ['POST /webhooks', webhook],
    ['POST /tokens', {}],
  ] as const;
  const begun = requests.map(async ([line, value]) => {
    const body = JSON.stringify(value);
    const connection = await openRaw(service.port);
    await connection.send(
      head(
        `${line} HTTP/1.1`,
        ...['Host: localhost', `Authorization: Bearer ${token}`, 'Idempotency-Key: once'],
        ...['Content-Type: application/json', `Content-Length: ${body.length}`, 'Expect: 100-continue'],
      ),
    );
    // The service asks for the body once it has admitted the token.
    assert.equal((await connection.answer()).status, 100);
    return { connection, body };
  });
  const waiting = await Promise.all(begun);
  succeeded(await revoke(ann, id), 204);
  for (const { connection, body } of waiting) {
    await connection.send(body);
    failed(await connection.answer(), 40101);
    connection.close();
  }
  assert.deepEqual(succeeded(await plants(ann), 200), []);
});

test('a token may revoke itself', async () => {
  const ann = await service.tokenFor('leaving');
  const { id, token } = await made(ann);
  succeeded(await revoke(token, id), 204);
  failed(await revoke(token, id), 40101);
  failed(await create(token), 40101);
});

test('tokens of others are not there', async () => {
  const [ann, bob] = [await service.tokenFor('ann'), await service.tokenFor('bob')];
  const { id, token } = await made(ann);
  failed(await rotate(bob, id), 40404);
  failed(await revoke(bob, id), 40404);
  assert.ok(!(await listed(bob)).some((one) => one.id === id));
  succeeded(await plants(token), 200);
});

test('the token is not in a replay, nor in anything that is kept for one', async () => {
  const ann = await service.tokenFor('repeating');
  const options = { headers: { 'idempotency-key': 'once' } };
  const { token, ...created } = bodyOf(await create(ann, { label: 'x' }, options), 201);
  assert.ok(token);
  const again = await create(ann, { label: 'x' }, options);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(bodyOf(again, 201), created);
  const { token: second, ...rotated } = bodyOf(await rotate(ann, created.id, {}, options), 200);
  assert.ok(second);
  assert.deepEqual(bodyOf(await rotate(ann, created.id, {}, options), 200), rotated);
  const lost = bodyOf(await rotate(ann, rotated.id, { overlap: 0 }), 200);
  assert.ok(lost.token);
  failed(await plants(second), 40102);
});

test('a token that ends itself by a rotation cannot repeat it, but another token of the user can', async () => {
  const ann = await service.tokenFor('ending');
  const options = { headers: { 'idempotency-key': 'once' } };
  const first = await made(ann);
  const rotateFirst = (token: string) => rotate(token, first.id, { overlap: 0 }, options);
  const { token, ...rotated } = bodyOf(await rotateFirst(first.token), 200);
  succeeded(await plants(token ?? ''), 200);
  failed(await rotateFirst(first.token), 40102);
  assert.deepEqual(bodyOf(await rotateFirst(ann), 200), rotated);
});

test('at the limit nothing is created until something is revoked', async () => {
  const ann = await service.tokenFor('collector');
  const first = await made(ann);
  let answer: Answer;
  let count = 2;
  do {
    answer = await create(ann, { scopes: ['plants:read'] });
    count++;
  } while (answer.status === 201);
  failed(answer, 40902, /100 tokens/);
  assert.equal(count, 101);
  assert.equal((await listed(ann)).length, 100);
  failed(await rotate(ann, first.id), 40902, /overlap of 0/);
  bodyOf(await rotate(ann, first.id, { overlap: 0 }), 200);
  succeeded(await revoke(ann, (await listed(ann)).at(-1)?.id ?? ''), 204);
  bodyOf(await create(ann), 201);
});

test('what comes with a JWT gets tokens that end with it', async () => {
  const scope = 'plants:read tokens:read tokens:write';
  const jwt = await provider.token('iris', { scope });
  const { expiresAt } = succeeded(await service.request('GET', '/me', { token: jwt }), 200) as Token;
  const first = await made(jwt);
  assert.equal(Math.floor(Date.parse(first.expiresAt ?? '') / 1000) >= Date.now() / 1000, true);
  assert.equal(first.expiresAt, expiresAt);
  assert.deepEqual(first.scopes, scope.split(' '));
  failed(await create(jwt, { expiresIn: 86_400 }), 40300);
  failed(await create(jwt, { scopes: ['plants:write'] }), 40300);
  const second = bodyOf(await rotate(first.token, first.id), 200);
  assert.equal(second.expiresAt, expiresAt);
  assert.deepEqual(
    (await listed(jwt)).map(({ id }) => id),
    [first.id, second.id],
  );
  const opaque = await service.tokenFor('iris', { scopes: ['plants:read'] });
  const own = (await listed(jwt)).at(-1);
  failed(await rotate(jwt, own?.id ?? ''), 40300, /expires at/);
  succeeded(await revoke(jwt, own?.id ?? ''), 204);
  failed(await plants(opaque), 40101);
});

test('the bootstrap token creates tokens, and has no replacement', async () => {
  const own = (await listed(service.token))[0];
  assert.equal(own?.label, 'bootstrap');
  failed(await rotate(service.token, own.id), 40902, /BOOTSTRAP_TOKEN/);
  await made(service.token);
});
