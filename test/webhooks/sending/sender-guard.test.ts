import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNetworks } from '../../../src/webhooks/sending/addresses.ts';
import { createResolve } from '../../../src/webhooks/sending/resolver.ts';
import { createTarget } from '../../../src/webhooks/sending/target.ts';
import { deliveryTo, senderWith } from '../../../testkit/receivers/sending.ts';
import { answering, OK, reply, startSocketServer } from '../../../testkit/sockets/socket-server.ts';
import { type NameAnswer, startNameServer } from './name-server.ts';

const PUBLIC = '93.184.215.14';

/** A name server that gives every name these answers, one per lookup; the last one repeats. */
async function namesThatMean(...answers: NameAnswer[]) {
  const asked = { 4: 0, 6: 0 };
  const server = await startNameServer((_, kind) => {
    const answer = answers[Math.min(asked[kind], answers.length - 1)] ?? [];
    asked[kind]++;
    return answer;
  });
  const resolve = createResolve({
    hosts: () => undefined,
    servers: [server.address],
    look: (_, __, callback) => callback(Object.assign(new Error(), { code: 'ENOTFOUND' }), []),
    bounds: { serverMs: 500, tries: 1 },
  });
  return Object.assign(server, { resolve });
}

test('a name that resolves to a loopback address after the webhook was created reaches nothing', async () => {
  await using server = await answering(OK);
  await using names = await namesThatMean([PUBLIC], ['127.0.0.1']);
  const url = `https://rebound.example:${server.port}/`;
  const target = createTarget({ allowed: [], resolve: names.resolve });
  await target.check(url);
  const attempt = await senderWith({ target }).send(deliveryTo(url));
  assert.match(attempt.error ?? '', /refused by the rule "loopback"/);
  assert.equal(attempt.address, undefined);
  assert.equal(server.connections(), 0);
});

test('a name that changes between two attempts is checked each time', async () => {
  await using server = await startSocketServer((socket) => {
    socket.once('data', () =>
      reply(socket, 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'),
    );
  });
  await using names = await namesThatMean(['127.0.0.1'], ['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1']);
  const sender = senderWith({ resolve: names.resolve });
  const url = `http://rebound.example:${server.port}/`;
  const rules = [];
  for (let i = 0; i < 4; i++) {
    const { error = 'none' } = await sender.send(deliveryTo(url));
    rules.push(/by the rule "(.*)"/.exec(error)?.[1] ?? error);
  }
  assert.deepEqual(rules, ['none', 'none', 'private', 'none']);
});

test('the checked addresses are the ones connected to', async () => {
  await using server = await answering(OK);
  // A second lookup would lead elsewhere.
  await using names = await namesThatMean(['127.0.0.1'], [PUBLIC]);
  const sender = senderWith({ resolve: names.resolve });
  assert.equal((await sender.send(deliveryTo(`http://plants.example:${server.port}/`))).address, '127.0.0.1');
  assert.equal(names.asked.length, 2);
});

const mixed: [what: string, addresses: string[], rule: string][] = [
  ['a private one', [PUBLIC, '10.0.0.1'], 'private'],
  ['a loopback one', ['127.0.0.1', PUBLIC], 'loopback'],
  ['a loopback one of the other kind', [PUBLIC, '::1'], 'loopback'],
  ['one that stands for an IPv4 address', [PUBLIC, '64:ff9b::7f00:1'], 'embedded-ipv4'],
  ['a mapped one', [PUBLIC, '::ffff:a9fe:a9fe'], 'link-local'],
];
for (const [what, addresses, rule] of mixed) {
  test(`a name that has a public address and ${what} reaches neither`, async () => {
    await using names = await namesThatMean(addresses);
    const attempt = await senderWith({ networks: '', resolve: names.resolve }).send(
      deliveryTo('https://mixed.example/'),
    );
    assert.match(attempt.error ?? '', new RegExp(`by the rule "${rule}"`));
    assert.equal(attempt.address, undefined);
  });
}

test('a name in an allowed network reaches nothing outside it', async () => {
  await using server = await answering(OK);
  await using names = await namesThatMean([PUBLIC, '::1', '127.0.0.1']);
  const sender = senderWith({ resolve: names.resolve });
  assert.equal((await sender.send(deliveryTo(`http://inside.example:${server.port}/`))).address, '127.0.0.1');
});

test('the guard checks every attempt, including literals and plain http', async () => {
  await using server = await answering(OK);
  const strict = senderWith({ networks: '' });
  const rules = [
    [`https://127.0.0.1:${server.port}/`, 'loopback'],
    [`https://[::ffff:127.0.0.1]:${server.port}/`, 'loopback'],
    [`https://2130706433:${server.port}/`, 'loopback'],
    [`https://localhost:${server.port}/`, 'loopback'],
    [`http://plants.example:${server.port}/`, 'scheme'],
    [`https://user@plants.example:${server.port}/`, 'user-info'],
    ['not a URL', 'url'],
  ] as const;
  for (const [url, rule] of rules) {
    for (let i = 0; i < 2; i++) {
      assert.match(
        (await strict.send(deliveryTo(url))).error ?? '',
        new RegExp(`by the rule "${rule}"`),
        url,
      );
    }
  }
  assert.equal(server.connections(), 0);
});

test('plain http to a name goes only to an allowed network', async () => {
  await using names = await namesThatMean([PUBLIC]);
  const attempt = await senderWith({ resolve: names.resolve }).send(deliveryTo('http://plants.example/'));
  assert.match(attempt.error ?? '', /by the rule "scheme"/);
});

test('a socket whose remote address is forbidden is closed before anything is sent', async () => {
  let sent = 0;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  await using server = await startSocketServer((socket) => {
    socket.on('data', () => sent++);
    socket.on('close', () => resolve());
  });
  const strict = createTarget({ allowed: parseNetworks(''), resolve: createResolve() });
  // A guard that admits the address before the connection, as if the lookup had answered differently.
  let looks = 0;
  const target = {
    ...strict,
    read: (url: string) => new URL(url),
    admit: (...[protocol, addresses]: Parameters<typeof strict.admit>) =>
      ++looks === 1 ? [...addresses] : strict.admit(protocol, addresses),
  };
  const attempt = await senderWith({ target }).send(deliveryTo(server.url));
  assert.match(attempt.error ?? '', /by the rule "loopback"/);
  assert.equal(looks, 2);
  await closed;
  assert.equal(sent, 0);
});

test('a name that does not resolve, or whose lookup fails, is a failure that says which', async () => {
  const reasons = [
    ['no such name', 'The name of the receiver does not resolve.'],
    [[], 'The name of the receiver does not resolve.'],
    ['failure', 'The name of the receiver could not be looked up.'],
  ] as const;
  for (const [answer, reason] of reasons) {
    await using names = await namesThatMean(typeof answer === 'string' ? answer : [...answer]);
    const sender = senderWith({ resolve: names.resolve });
    const { error, address } = await sender.send(deliveryTo('https://nowhere.example/'));
    assert.deepEqual([error, address], [reason, undefined]);
  }
});

test('a name whose servers are silent costs one deadline', async () => {
  await using names = await namesThatMean('silence');
  const sender = senderWith({ resolve: names.resolve, attemptMs: 100 });
  const attempt = await sender.send(deliveryTo('https://silent.example/'));
  assert.equal(attempt.error, 'The name of the receiver was not resolved within 0.1 s.');
});

test('names whose servers are silent do not delay deliveries to other names', async () => {
  await using server = await answering(OK);
  const slow = Promise.withResolvers<NameAnswer>();
  await using names = await startNameServer((name, kind) => {
    if (name !== 'well.example') return slow.promise;
    return kind === 4 ? ['127.0.0.1'] : [];
  });
  const resolve = createResolve({
    hosts: () => undefined,
    servers: [names.address],
    bounds: { serverMs: 60_000 },
  });
  const sender = senderWith({ resolve });
  let ended = 0;
  const silent = Array.from({ length: 50 }, (_, i) =>
    sender.send(deliveryTo(`https://silent-${i}.example/`, `wh_${i}`)).then(() => ended++),
  );
  assert.equal((await sender.send(deliveryTo(`http://well.example:${server.port}/`))).status, 200);
  assert.equal(ended, 0);
  slow.resolve('failure');
  await Promise.all(silent);
});
