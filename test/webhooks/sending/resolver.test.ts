import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  createHosts,
  createResolve,
  type Lookup,
  type ResolverParts,
} from '../../../src/webhooks/sending/resolver.ts';
import { type NameServer, startNameServer } from './name-server.ts';

const nothing: Lookup = (_, __, callback) => callback(Object.assign(new Error(), { code: 'ENOTFOUND' }), []);

function resolverWith(server: NameServer, parts: Partial<ResolverParts> = {}) {
  const bounds = { serverMs: 500, tries: 1, otherKindMs: 50 };
  return createResolve({
    hosts: () => undefined,
    servers: [server.address],
    look: nothing,
    bounds,
    ...parts,
  });
}

function four(address: string) {
  return { address, family: 4 };
}

test('a name resolves to its addresses of both kinds', async () => {
  await using server = await startNameServer(() => ['93.184.215.14', '2606:4700::1111', '93.184.215.15']);
  assert.deepEqual(await resolverWith(server)('plants.example'), [
    four('93.184.215.14'),
    four('93.184.215.15'),
    { address: '2606:4700::1111', family: 6 },
  ]);
});

test('each lookup gets the current addresses', async () => {
  const answers = ['192.0.2.1', '192.0.2.2'];
  await using server = await startNameServer((_, kind) => (kind === 4 ? [answers.shift() ?? ''] : []));
  const resolve = resolverWith(server);
  assert.deepEqual(await resolve('plants.example'), [four('192.0.2.1')]);
  assert.deepEqual(await resolve('plants.example'), [four('192.0.2.2')]);
});

test('concurrent lookups of a name are one', async () => {
  await using server = await startNameServer(() => ['192.0.2.1']);
  const resolve = resolverWith(server);
  const answers = await Promise.all([resolve('a.example'), resolve('a.example'), resolve('b.example')]);
  assert.deepEqual(answers, [[four('192.0.2.1')], [four('192.0.2.1')], [four('192.0.2.1')]]);
  assert.deepEqual(server.asked.toSorted(), ['a.example', 'a.example', 'b.example', 'b.example']);
});

test('fifty names whose servers are silent do not delay another one', async () => {
  await using server = await startNameServer((name) => (name === 'good.example' ? ['192.0.2.1'] : 'silence'));
  const resolve = resolverWith(server, { bounds: { serverMs: 10_000, mostMs: 1_000 } });
  const silent = Array.from({ length: 50 }, (_, i) => resolve(`${i}.example`));
  let ended = 0;
  const ends = silent.map((answer) => answer.catch(() => ended++));
  assert.deepEqual(await resolve('good.example'), [four('192.0.2.1')]);
  assert.equal(ended, 0);
  await Promise.all(ends);
  assert.equal(ended, 50);
});

test('an unanswered kind of address is not waited for', async () => {
  await using server = await startNameServer((_, kind) => (kind === 4 ? ['192.0.2.1'] : 'silence'));
  const resolve = resolverWith(server, { bounds: { serverMs: 60_000, otherKindMs: 20 } });
  assert.deepEqual(await resolve('plants.example'), [four('192.0.2.1')]);
});

test('a lost query for IPv4 addresses is repeated, even if those of IPv6 are there', async () => {
  let lost = 0;
  await using server = await startNameServer((_, kind) => {
    if (kind === 6) return ['2606:4700::1111'];
    return lost++ === 0 ? 'silence' : ['192.0.2.1'];
  });
  // Node looks for lost queries once a second or, below that, once in this time: it might look just before the end.
  const resolve = resolverWith(server, { bounds: { serverMs: 1_500, tries: 2, otherKindMs: 1 } });
  assert.deepEqual(await resolve('plants.example'), [
    four('192.0.2.1'),
    { address: '2606:4700::1111', family: 6 },
  ]);
});

test('a name whose servers fail or are silent is an error, and is not passed to dns.lookup', async () => {
  await using server = await startNameServer((name) => (name === 'silent.example' ? 'silence' : 'failure'));
  const resolve = resolverWith(server, { look: () => assert.fail('dns.lookup was called') });
  await assert.rejects(resolve('silent.example'), { code: 'ETIMEOUT' });
  await assert.rejects(resolve('failing.example'), { code: 'ESERVFAIL' });
});

test('a failed lookup is repeated', async () => {
  const answers = ['failure', ['192.0.2.1']] as const;
  let calls = 0;
  await using server = await startNameServer((_, kind) => [...(answers[kind === 4 ? calls++ : 0] ?? [])]);
  const resolve = resolverWith(server);
  await assert.rejects(resolve('plants.example'));
  assert.deepEqual(await resolve('plants.example'), [four('192.0.2.1')]);
});

test("a name unknown to the name servers is looked up in the machine's other ways", async () => {
  await using server = await startNameServer((name) => (name === 'empty.example' ? [] : 'no such name'));
  const look: Lookup = (name, _, callback) => callback(null, name === 'x.example' ? [] : [four('10.0.0.1')]);
  const resolve = resolverWith(server, { look });
  assert.deepEqual(await resolve('greenhouse.local'), [four('10.0.0.1')]);
  assert.deepEqual(await resolve('empty.example'), [four('10.0.0.1')]);
  await assert.rejects(resolverWith(server)('nowhere.example'), { code: 'ENOTFOUND' });
});

test("without a name server the machine's lookup is used", async () => {
  const gone = await startNameServer(() => []);
  await gone[Symbol.asyncDispose]();
  const look: Lookup = (_, __, callback) => callback(null, [four('10.0.0.1')]);
  assert.deepEqual(await resolverWith(gone, { look })('plants.example'), [four('10.0.0.1')]);
});

test('dns.lookup gets one name at a time, in order', async () => {
  await using server = await startNameServer(() => 'no such name');
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const look: Lookup = (name, _, callback) => {
    begun.push(name);
    ends.push(() => callback(name === 'a.local' ? new Error('gone') : null, [four('10.0.0.1')]));
  };
  const resolve = resolverWith(server, { look });
  const names = ['a.local', 'b.local', 'c.local'];
  const answers = [];
  for (const name of names) {
    answers.push(resolve(name).catch(() => []));
    // Until the name server has answered.
    while (server.asked.filter((asked) => asked === name).length < 2) await new Promise(setImmediate);
  }
  for (let i = 0; i < names.length; i++) {
    while (ends[i] === undefined) await new Promise(setImmediate);
    assert.deepEqual(begun, names.slice(0, i + 1));
    ends[i]?.();
    await answers[i];
  }
  assert.deepEqual(await Promise.all(answers), [[], [four('10.0.0.1')], [four('10.0.0.1')]]);
});

test('a name in the hosts file is not looked up elsewhere', async () => {
  await using server = await startNameServer(() => ['192.0.2.1']);
  const folder = mkdtempSync(join(tmpdir(), 'hosts-'));
  const file = join(folder, 'hosts');
  const resolve = resolverWith(server, { hosts: createHosts(file) });
  assert.deepEqual(await resolve('plants.example'), [four('192.0.2.1')]);
  writeFileSync(
    file,
    '# a comment\n10.0.0.5\tPlants.example  other.example # more\nnone plants.example\n\nfd00::5 plants.example\n',
  );
  const expected = [four('10.0.0.5'), { address: 'fd00::5', family: 6 }];
  for (const name of ['plants.example', 'PLANTS.example', 'plants.example.']) {
    assert.deepEqual(await resolve(name), expected);
  }
  assert.deepEqual(await resolve('other.example'), [four('10.0.0.5')]);
  assert.equal(server.asked.length, 2);
  rmSync(folder, { recursive: true });
});
