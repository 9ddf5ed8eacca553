import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { after, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { parseNetworks } from '../../src/webhooks/addresses.ts';
import { failureOf } from '../../src/webhooks/attempt.ts';
import { createResolve, type Lookup } from '../../src/webhooks/resolver.ts';
import { createSender, type Sender } from '../../src/webhooks/sender.ts';
import { createTarget } from '../../src/webhooks/target.ts';
import { startReceiver } from '../harness/receiver.ts';
import { selfSigned } from './certificate.ts';
import { answering, listening, startSocketServer } from './socket-server.ts';

const clock = { now: Date.now };
const senders: Sender[] = [];
after(() => Promise.all(senders.map((sender) => sender.close())));

function senderWith(options: { networks?: string; lookup?: Lookup; attemptMs?: number } = {}): Sender {
  const allowed = parseNetworks(options.networks ?? '127.0.0.0/8');
  const target = createTarget({ allowed, resolve: createResolve(options.lookup) });
  const sender = createSender({ target, clock, attemptMs: options.attemptMs ?? 5000 });
  senders.push(sender);
  return sender;
}

const sender = senderWith();
const hasty = senderWith({ attemptMs: 100 });
const LATE = 'There was no whole answer within 0.1 s.';

function post(url: string) {
  return {
    url,
    headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1' },
    body: '{"id":1,"name":"é"}',
  };
}

test('a delivery arrives as it was prepared, and its status is the outcome', async () => {
  const receiver = await startReceiver();
  const attempt = await sender.send(post(receiver.url));
  assert.equal(attempt.status, 204);
  assert.equal(failureOf(attempt), undefined);
  assert.ok(attempt.durationMs >= 0);
  const [request] = await receiver.receive(1);
  assert.equal(request?.method, 'POST');
  assert.equal(request?.path, '/hook');
  assert.equal(request?.headers['webhook-id'], 'evt_1');
  assert.equal(request?.headers['content-length'], '20');
  assert.equal(request?.body.toString(), '{"id":1,"name":"é"}');
  await receiver.stop();
});

test('deliveries to one receiver share connections', async () => {
  await using server = await listening(
    createServer((_, response) => void response.end('ok')),
    'http',
  );
  for (let i = 0; i < 20; i++) assert.equal((await sender.send(post(server.url))).excerpt, 'ok');
  // A second one may be opened while the first is not yet free again.
  assert.ok(server.connections() <= 2, `${server.connections()} connections`);
});

test('a status other than 2xx is a failure that keeps what the receiver said', async () => {
  const receiver = await startReceiver();
  receiver.script({ status: 500, body: 'we are sorry' }, { status: 429 }, { status: 404 }, { status: 202 });
  const attempt = await sender.send(post(receiver.url));
  assert.deepEqual([attempt.status, attempt.excerpt], [500, 'we are sorry']);
  assert.equal(failureOf(attempt), 'The receiver answered 500.');
  assert.equal(failureOf(await sender.send(post(receiver.url))), 'The receiver answered 429.');
  assert.equal(failureOf(await sender.send(post(receiver.url))), 'The receiver answered 404.');
  assert.equal(failureOf(await sender.send(post(receiver.url))), undefined);
  await receiver.stop();
});

test('a redirect is a failure and is not followed', async () => {
  const receiver = await startReceiver();
  for (const status of [301, 302, 303, 307, 308]) {
    receiver.script({ status, headers: { location: receiver.url } });
    const attempt = await sender.send(post(receiver.url));
    assert.equal(failureOf(attempt), `The receiver answered ${status}; redirects are not followed.`);
  }
  assert.equal(receiver.received.length, 5);
  await receiver.stop();
});

test('a receiver that never answers costs one deadline', async () => {
  const receiver = await startReceiver();
  receiver.usually('hang');
  const attempt = await hasty.send(post(receiver.url));
  assert.equal(attempt.error, LATE);
  assert.equal(attempt.status, undefined);
  await receiver.stop();
});

test('a receiver that never accepts TLS costs one deadline', async () => {
  await using server = await startSocketServer(() => {});
  assert.equal((await hasty.send(post(server.url.replace('http:', 'https:')))).error, LATE);
});

test('a name whose look-up hangs costs one deadline', async () => {
  const attempt = await senderWith({ attemptMs: 100, lookup: () => {} }).send(post('https://slow.example/'));
  assert.equal(attempt.error, LATE);
});

test('an answer that drips is ended by the same deadline, and its status alone delivers nothing', async () => {
  await using server = await startSocketServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n');
      const drip = setInterval(() => socket.write('x'), 10);
      socket.on('close', () => clearInterval(drip));
    });
  });
  const attempt = await hasty.send(post(server.url));
  assert.equal(attempt.error, LATE);
  assert.equal(failureOf(attempt), `${LATE} Its status was 200.`);
});

test('headers that drip are ended by the same deadline', async () => {
  await using server = await startSocketServer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx: ');
    const drip = setInterval(() => socket.write('x'), 10);
    socket.on('close', () => clearInterval(drip));
  });
  assert.equal((await hasty.send(post(server.url))).error, LATE);
});

test('an endless answer is left at its bound, its beginning is kept, and its status counts', async () => {
  let written = 0;
  let closed = () => {};
  const gone = new Promise<void>((resolve) => {
    closed = resolve;
  });
  await using server = await startSocketServer((socket) => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const flood = () => {
      do written += chunk.length;
      while (socket.write(chunk));
    };
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n');
      flood();
    });
    socket.on('drain', flood);
    socket.on('close', () => closed());
  });
  const attempt = await sender.send(post(server.url));
  assert.equal(attempt.status, 200);
  assert.equal(failureOf(attempt), undefined);
  assert.equal(attempt.excerpt, 'x'.repeat(4096));
  await gone;
  assert.ok(written < 64 * 1024 * 1024, `${written} bytes were taken`);
});

test('an excerpt is valid text wherever it is cut', async () => {
  const receiver = await startReceiver();
  receiver.script(
    { status: 500, body: `x${'é'.repeat(3000)}` },
    { status: 500, body: Buffer.from([0x61, 0, 0xff]) },
  );
  assert.equal((await sender.send(post(receiver.url))).excerpt, `x${'é'.repeat(2047)}`);
  assert.equal((await sender.send(post(receiver.url))).excerpt, 'a\uFFFD\uFFFD');
  await receiver.stop();
});

test('an answer that breaks off is a failure, whatever its status', async () => {
  const broken = [
    ['HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', 'end'],
    ['HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', 'reset'],
    ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel', 'end'],
    ['HTTP/1.1 200', 'end'],
    ['', 'end'],
    ['', 'reset'],
  ] as const;
  for (const [bytes, then] of broken) {
    await using server = await answering(bytes, then);
    const reason = failureOf(await sender.send(post(server.url)));
    assert.match(reason ?? '', /^The connection was closed before the answer was complete\./, bytes);
  }
});

test('an answer that is not HTTP is a failure', async () => {
  const nonsense = [
    'SSH-2.0-OpenSSH_9.2\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 7\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\ncontent-length: five\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\nok',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\nhello\r\n',
    'HTTP/1.1 200 OK\r\nno colon\r\n\r\n',
  ];
  for (const bytes of nonsense) {
    await using server = await answering(bytes);
    assert.match(
      failureOf(await sender.send(post(server.url))) ?? '',
      /^The answer is not (?:valid HTTP \(|as long as it says)/,
      bytes,
    );
  }
});

test('an answer that switches to another protocol is a failure', async () => {
  await using server = await answering('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n');
  assert.notEqual(failureOf(await sender.send(post(server.url))), undefined);
});

test('a flood of headers is a failure', async () => {
  await using server = await answering(`HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(1000)}\r\n`.repeat(100)}\r\n`);
  assert.equal((await sender.send(post(server.url))).error, 'The header of the answer is over 16 KiB.');
});

test('a flood of informational answers is ended by the deadline', async () => {
  await using server = await startSocketServer((socket) => {
    const flood = setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)), 5);
    socket.on('close', () => clearInterval(flood));
  });
  assert.notEqual(failureOf(await hasty.send(post(server.url))), undefined);
});

test('what a receiver sends beyond its answer is not taken for the next one', async () => {
  await using server = await startSocketServer((socket) => {
    socket.once('data', () => {
      socket.write(
        'HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
      );
    });
  });
  for (let i = 0; i < 3; i++) assert.notEqual(failureOf(await sender.send(post(server.url))), undefined);
});

test('a connection that is refused is a failure', async () => {
  const server = await startSocketServer(() => {});
  await server[Symbol.asyncDispose]();
  assert.equal((await sender.send(post(server.url))).error, 'The receiver refused the connection.');
});

test('a name that does not resolve is a failure', async () => {
  const lookup: Lookup = (_, __, callback) => callback(Object.assign(new Error(), { code: 'ENOTFOUND' }), []);
  const attempt = await senderWith({ lookup }).send(post('https://nowhere.example/'));
  assert.equal(attempt.error, 'The name of the receiver does not resolve.');
});

test('a receiver that does not speak TLS is a failure', async () => {
  await using server = await answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  const attempt = await sender.send(post(server.url.replace('http:', 'https:')));
  assert.match(attempt.error ?? '', /^The TLS connection failed \(/);
});

test('only a certificate that is trusted and bears the name delivers', async () => {
  const certificate = selfSigned('plants.example');
  await using server = await listening(
    createHttpsServer(certificate, (_, response) => void response.end('ok')),
    'https',
  );
  const lookup: Lookup = (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
  const to = (name: string) => senderWith({ lookup }).send(post(`https://${name}:${server.port}/`));
  const untrusted = await to('plants.example');
  assert.equal(untrusted.error, 'The TLS connection failed (DEPTH_ZERO_SELF_SIGNED_CERT).');
  const usual = getCACertificates('default');
  setDefaultCACertificates([...usual, certificate.cert]);
  try {
    assert.equal((await to('plants.example')).excerpt, 'ok');
    const other = await to('other.example');
    assert.equal(other.error, 'The TLS connection failed (ERR_TLS_CERT_ALTNAME_INVALID).');
  } finally {
    setDefaultCACertificates(usual);
  }
});

test('a name that comes to mean another address after the webhook was made reaches nothing', async () => {
  await using server = await answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  const answers = ['93.184.215.14', '127.0.0.1'];
  const lookup: Lookup = (_, __, callback) => callback(null, [{ address: answers.shift() ?? '', family: 4 }]);
  const target = createTarget({ allowed: [], resolve: createResolve(lookup) });
  const url = `https://rebound.example:${server.port}/`;
  await target.check(url);
  const rebound = createSender({ target, clock, attemptMs: 5000 });
  senders.push(rebound);
  const attempt = await rebound.send(post(url));
  assert.match(attempt.error ?? '', /refused by the rule "loopback"/);
  assert.equal(server.connections(), 0);
});

test('the guard looks at every attempt, also at literals and at plain http', async () => {
  await using server = await answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  const strict = senderWith({ networks: '' });
  const rules = [
    [`https://127.0.0.1:${server.port}/`, 'loopback'],
    [`https://[::ffff:127.0.0.1]:${server.port}/`, 'loopback'],
    [`https://2130706433:${server.port}/`, 'loopback'],
    [`https://localhost:${server.port}/`, 'loopback'],
    [`http://plants.example:${server.port}/`, 'scheme'],
    [`https://user@plants.example:${server.port}/`, 'user-info'],
  ] as const;
  for (const [url, rule] of rules) {
    assert.match((await strict.send(post(url))).error ?? '', new RegExp(`by the rule "${rule}"`), url);
  }
  assert.equal(server.connections(), 0);
});

test('plain http to a name goes only to an allowed network', async () => {
  const lookup: Lookup = (_, __, callback) => callback(null, [{ address: '93.184.215.14', family: 4 }]);
  const attempt = await senderWith({ lookup }).send(post('http://plants.example/'));
  assert.match(attempt.error ?? '', /by the rule "scheme"/);
});

test('a socket whose remote address may not be a target is closed before anything is sent', async () => {
  let sent = 0;
  let closed = () => {};
  const gone = new Promise<void>((resolve) => {
    closed = resolve;
  });
  await using server = await startSocketServer((socket) => {
    socket.on('data', () => sent++);
    socket.on('close', () => closed());
  });
  const strict = createTarget({ allowed: [], resolve: createResolve() });
  // A guard that lets the address pass at the look-up, as if the look-up had been told something else.
  let looks = 0;
  const target = {
    ...strict,
    read: (url: string) => new URL(url),
    admit: (...[url, addresses]: Parameters<typeof strict.admit>) =>
      ++looks === 1 ? [...addresses] : strict.admit(url, addresses),
  };
  const misled = createSender({ target, clock, attemptMs: 5000 });
  senders.push(misled);
  const attempt = await misled.send(post(server.url));
  assert.match(attempt.error ?? '', /by the rule "loopback"/);
  assert.equal(looks, 2);
  await gone;
  assert.equal(sent, 0);
});

test('a stop ends the attempts that are under way', async () => {
  const receiver = await startReceiver();
  receiver.usually('hang');
  const abort = new AbortController();
  const attempt = sender.send(post(receiver.url), abort.signal);
  await receiver.receive(1);
  abort.abort();
  assert.equal((await attempt).error, 'The service stopped.');
  assert.equal((await sender.send(post(receiver.url), abort.signal)).error, 'The service stopped.');
  await receiver.stop();
});

test('closing twice is the same as closing once, and ends what is under way', async () => {
  const receiver = await startReceiver();
  receiver.usually('hang');
  const closing = senderWith();
  const attempt = closing.send(post(receiver.url));
  await receiver.receive(1);
  await Promise.all([closing.close(), closing.close()]);
  assert.notEqual((await attempt).error, undefined);
  await receiver.stop();
});
