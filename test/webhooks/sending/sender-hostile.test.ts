import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { failureOf } from '../../../src/webhooks/sending/attempt.ts';
import { deliveryTo, senderWith } from '../../../testkit/receivers/sending.ts';
import {
  badOnce,
  drip,
  type Ending,
  flood,
  OK,
  reply,
  startSocketServer,
} from '../../../testkit/sockets/socket-server.ts';

const sender = senderWith();
/** Long enough to connect and to read, on a busy machine as well. */
const hasty = senderWith({ attemptMs: 1_000 });

const CUT = 'The connection was closed before the response was complete.';
const LENGTH = 'The response is not valid HTTP, or its length is wrong.';
const HEADER = 'The header of the response is over 16 KiB.';
const LATE = 'There was no complete response within 1 s.';
const HEAD = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`;

/** Asserts that the first delivery fails like this, and the next one to the same receiver arrives. */
async function fails(bad: (socket: Socket) => void, reason: string | RegExp, by = sender): Promise<void> {
  await using server = await badOnce(bad);
  const attempt = await by.send(deliveryTo(server.url));
  const failure = failureOf(attempt) ?? 'none';
  if (typeof reason === 'string') assert.equal(failure, reason);
  else assert.match(failure, reason);
  assert.equal(attempt.address, '127.0.0.1');
  const next = await by.send(deliveryTo(server.url));
  assert.deepEqual([failureOf(next), next.excerpt], [undefined, 'ok']);
}

const cut: [what: string, bytes: string, then: Ending, status?: number][] = [
  ['no answer at all', '', 'end'],
  ['nothing but a reset', '', 'reset'],
  ['empty lines', '\r\n\r\n', 'end'],
  ['half a status line', 'HTTP/1.1 20', 'end'],
  ['half a head', `${HEAD}conte`, 'end'],
  ['half a body', `${HEAD}content-length: 100\r\n\r\nhalf`, 'end', 200],
  ['a length that is too long', `${HEAD}content-length: 3\r\n\r\nok`, 'end', 200],
  ['half a chunk', `${CHUNKED}5\r\nhel`, 'end', 200],
  ['no last chunk', `${CHUNKED}5\r\nhello\r\n`, 'end', 200],
  ['half a last chunk', `${CHUNKED}5\r\nhello\r\n0\r\n`, 'end', 200],
];
for (const [what, bytes, then, status] of cut) {
  test(`an answer cut short, with ${what}, delivers nothing`, () =>
    fails((socket) => reply(socket, bytes, then), status ? `${CUT} Its status was ${status}.` : CUT));
}

test('an answer with a reset before its end delivers nothing', () =>
  fails((socket) => reply(socket, `${HEAD}content-length: 100\r\n\r\nhalf`, 'reset'), new RegExp(`^${CUT}`)));

for (const head of [`${HEAD}connection: close\r\n`, 'HTTP/1.0 200 OK\r\n']) {
  for (const then of ['end', 'reset'] as const) {
    test(`an answer cut short on a connection that carries no other, with "${then}", delivers nothing: ${head.trim()}`, () =>
      fails(
        (socket) => reply(socket, `${head}content-length: 100\r\n\r\nhalf`, then),
        `${LENGTH} Its status was 200.`,
      ));
  }
}

const invalid: [what: string, bytes: string][] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['HTTP/0.9', '<html>hello</html>'],
  ['a request', 'POST /hook HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['HTTP/2', '\0\0\x12\x04\0\0\0\0\0'],
  ['a status of two digits', 'HTTP/1.1 20 x\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 x\r\n\r\n'],
  ['a negative status', 'HTTP/1.1 -200 x\r\n\r\n'],
  ['the status 0', 'HTTP/1.1 000 x\r\n\r\n'],
  ['the status 99', 'HTTP/1.1 099 x\r\n\r\n'],
  ['line breaks without CR', 'HTTP/1.1 200 OK\ncontent-length: 2\n\nok'],
  ['a header without a colon', `${HEAD}no colon\r\n\r\n`],
  ['a header without a name', `${HEAD}: x\r\n\r\n`],
  ['a space before the colon', `${HEAD}content-length : 2\r\n\r\nok`],
  ['a folded header', `${HEAD}x: a\r\n b\r\n\r\n`],
  ['a NUL in a header', `${HEAD}x: a\0b\r\n\r\n`],
  ['a negative length', `${HEAD}content-length: -1\r\n\r\n`],
  ['a length in hexadecimal', `${HEAD}content-length: 0x2\r\n\r\nok`],
];
for (const [what, bytes] of invalid) {
  test(`an answer with ${what} is a failure that says why`, () =>
    fails((socket) => reply(socket, bytes), /^The response is not valid HTTP \([A-Za-z][\w ,/-]{7,}\)\.$/));
}

const chunks: [what: string, bytes: string][] = [
  ['of no number', 'ZZ\r\nhello\r\n0\r\n\r\n'],
  ['that is negative', '-5\r\nhello\r\n0\r\n\r\n'],
  ['beyond 64 bits', 'fffffffffffffffff\r\nhello\r\n0\r\n\r\n'],
  ['that is too short', '5\r\nhello world\r\n0\r\n\r\n'],
  ['without CR', '5\nhello\n0\n\n'],
];
for (const [what, bytes] of chunks) {
  test(`a chunk size ${what} is a failure, whatever the status`, () =>
    fails(
      (socket) => reply(socket, CHUNKED + bytes),
      /^The response is not valid HTTP \(.+\)\. Its status was 200\.$/,
    ));
}

const lengths: [what: string, header: string][] = [
  ['two that differ', 'content-length: 5\r\ncontent-length: 7'],
  ['two that are equal', 'content-length: 5\r\ncontent-length: 5'],
  ['a list of them', 'content-length: 5, 5'],
  ['one beyond 64 bits', 'content-length: 99999999999999999999999'],
  ['one beside chunks', 'content-length: 5\r\ntransfer-encoding: chunked'],
];
for (const [what, header] of lengths) {
  test(`an answer with an ambiguous length, ${what}, is a failure`, () =>
    fails((socket) => reply(socket, `${HEAD}${header}\r\n\r\nhello`), LENGTH));
}

test('an answer longer than its length counts, and its rest is discarded with the connection', async () => {
  await using server = await badOnce((socket) =>
    reply(socket, `${HEAD}content-length: 2\r\n\r\nno HTTP/1.1 500 this is not an answer`),
  );
  const attempts = [await sender.send(deliveryTo(server.url)), await sender.send(deliveryTo(server.url))];
  assert.deepEqual(
    attempts.map(({ status, excerpt, error }) => [status, excerpt, error]),
    [
      [200, 'no', undefined],
      [200, 'ok', undefined],
    ],
  );
});

test('an answer without a length ends with its connection', async () => {
  await using server = await badOnce((socket) => reply(socket, 'HTTP/1.0 200 OK\r\n\r\nhello', 'end'));
  const attempt = await sender.send(deliveryTo(server.url));
  assert.deepEqual([attempt.status, attempt.excerpt, attempt.error], [200, 'hello', undefined]);
});

const floods: [what: string, head: string, flood: string, reason: string][] = [
  ['a status line', 'HTTP/1.1 200 ', 'x'.repeat(1000), HEADER],
  ['a header', `${HEAD}x: `, 'x'.repeat(1000), HEADER],
  ['headers', HEAD, 'x: y\r\n'.repeat(1000), HEADER],
  ['informational answers', '', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(100), HEADER],
  ['trailers', `${CHUNKED}0\r\n`, 'x: y\r\n'.repeat(1000), `${HEADER} Its status was 200.`],
  ['empty lines', '', '\r\n'.repeat(1000), HEADER],
];
for (const [what, head, bytes, reason] of floods) {
  test(`a flood of ${what} is a failure long before the deadline`, () =>
    fails((socket) => {
      socket.write(head);
      flood(socket, bytes);
    }, reason));
}

test('10 000 headers are a failure', () =>
  fails((socket) => reply(socket, `${HEAD}${'x: y\r\n'.repeat(10_000)}\r\n`), HEADER));

const endless: [what: string, head: string, flood: Buffer][] = [
  ['a body of 10 GiB', `${HEAD}content-length: 10737418240\r\n\r\n`, Buffer.alloc(65_536, 'x')],
  ['a body without a length', `${HEAD}\r\n`, Buffer.alloc(65_536, 'x')],
  ['endless chunks', CHUNKED, Buffer.from(`400\r\n${'x'.repeat(1024)}\r\n`.repeat(64))],
  ['endless chunks of one byte', CHUNKED, Buffer.from('1\r\nx\r\n'.repeat(10_000))],
];
for (const [what, head, bytes] of endless) {
  test(`${what}: the answer is cut at the limit, its start is kept, and its status counts`, async () => {
    const { promise: gone, resolve } = Promise.withResolvers<number>();
    await using server = await badOnce((socket) => {
      socket.on('close', () => resolve(socket.bytesWritten));
      socket.write(head);
      flood(socket, bytes);
    });
    const attempt = await sender.send(deliveryTo(server.url));
    assert.deepEqual([attempt.status, attempt.error], [200, undefined]);
    assert.equal(attempt.excerpt, 'x'.repeat(4096));
    const written = await gone;
    assert.ok(written < 64 * 1024 * 1024, `${written} bytes were taken`);
    assert.equal(failureOf(await sender.send(deliveryTo(server.url))), undefined);
  });
}

test('64 KiB of the answer are read, and what comes after them is not waited for', async () => {
  for (const [bytes, failure] of [
    [65_535, `${LATE} Its status was 200.`],
    [65_536, undefined],
  ] as const) {
    await using server = await badOnce((socket) => {
      socket.write(`${HEAD}content-length: 10737418240\r\n\r\n`);
      socket.write(Buffer.alloc(bytes, 'x'));
    });
    assert.equal(failureOf(await hasty.send(deliveryTo(server.url))), failure);
  }
});

test('a flood of chunk extensions is cut at the limit', async () => {
  await using server = await badOnce((socket) => {
    socket.write(`${CHUNKED}5;`);
    flood(socket, 'x'.repeat(10_000));
  });
  const attempt = await sender.send(deliveryTo(server.url));
  assert.deepEqual([attempt.status, attempt.excerpt, attempt.error], [200, undefined, undefined]);
  assert.equal(failureOf(await sender.send(deliveryTo(server.url))), undefined);
});

const slow: [what: string, head: string, drips: string, reason: string][] = [
  ['status line', 'HTTP/1.1 200 ', 'x', 'There was no response within 1 s.'],
  ['header', `${HEAD}x: `, 'x', 'There was no response within 1 s.'],
  ['body', `${HEAD}content-length: 100000\r\n\r\n`, 'x', `${LATE} Its status was 200.`],
  ['body in chunks', CHUNKED, '1\r\nx\r\n', `${LATE} Its status was 200.`],
  [
    'row of informational answers',
    '',
    'HTTP/1.1 102 Processing\r\n\r\n',
    'There was no response within 1 s.',
  ],
];
for (const [what, head, drips, reason] of slow) {
  test(`a ${what} that drips is ended by the same deadline`, () =>
    fails(
      (socket) => {
        socket.write(head);
        drip(socket, drips);
      },
      reason,
      hasty,
    ));
}

test('a body that never arrives is ended by the deadline', () =>
  fails((socket) => reply(socket, `${HEAD}content-length: 5\r\n\r\n`), `${LATE} Its status was 200.`, hasty));

test('an answer after informational ones counts', async () => {
  await using server = await badOnce((socket) =>
    reply(socket, `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${OK}`),
  );
  assert.equal((await sender.send(deliveryTo(server.url))).status, 200);
});

test('an unsolicited 100 Continue is a failure that says so', () =>
  fails(
    (socket) => reply(socket, `HTTP/1.1 100 Continue\r\n\r\n${OK}`),
    'The receiver answered 100 (Continue) without being asked.',
  ));

for (const headers of ['upgrade: x\r\nconnection: upgrade\r\n', '']) {
  test(`an answer that switches protocols is a failure${headers && ', even with its headers'}`, () =>
    fails(
      (socket) => reply(socket, `HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n`),
      'The receiver answered 101 (Switching Protocols).',
    ));
}

test('headers named like JavaScript object members do no harm', async () => {
  const headers =
    '__proto__: 5\r\nconstructor: 5\r\ntoString: 5\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n';
  await using server = await badOnce((socket) => reply(socket, HEAD + headers));
  const { status, retryAfter } = await sender.send(deliveryTo(server.url));
  assert.deepEqual([status, retryAfter], [200, '7']);
});

test('two Retry-After headers are ignored', async () => {
  const headers = 'retry-after: 5\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n';
  await using server = await badOnce((socket) => reply(socket, `HTTP/1.1 503 No\r\n${headers}`));
  const { status, retryAfter } = await sender.send(deliveryTo(server.url));
  assert.deepEqual([status, retryAfter], [503, undefined]);
});

test('white space after the value of a header is not a part of it', async () => {
  const headers = 'retry-after: 7 \t\r\ncontent-length: 2 \r\n\r\nok';
  await using server = await badOnce((socket) => reply(socket, HEAD + headers));
  const { status, retryAfter, error, excerpt } = await sender.send(deliveryTo(server.url));
  assert.deepEqual([status, retryAfter, error, excerpt], [200, '7', undefined, 'ok']);
});

test("a receiver's premature answer counts", async () => {
  await using server = await startSocketServer((socket) => void socket.write(OK));
  assert.equal((await sender.send(deliveryTo(server.url))).status, 200);
});
