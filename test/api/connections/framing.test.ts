import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorCode } from '../../../src/errors.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';
import { exchange, openRaw, sendInPieces } from '../../../testkit/sockets/raw-client.ts';
import type { RawAnswer } from '../../../testkit/sockets/raw-framing.ts';
import { chunk, head, usual } from '../../../testkit/sockets/raw-request.ts';

const service = await startService();
after(() => service.stop());

const GET = 'GET /plants?limit=1 HTTP/1.1';
const POST = 'POST /plants HTTP/1.1';
const JSON_TYPE = 'Content-Type: application/json';
const fields = usual(service);
const authorization = `Authorization: Bearer ${service.token}`;
const PLANT = '{"name":"Alder"}';

const send = (bytes: string | Buffer) => exchange(service.port, bytes);
const get = (...more: string[]) => send(head(GET, ...fields, ...more));

/** Asserts that the request was refused as unreadable, and the connection closed after the answer. */
async function unreadable(bytes: string | Buffer): Promise<void> {
  const connection = await openRaw(service.port);
  await connection.send(bytes);
  failed(await connection.answer(), 40000);
  await connection.ended();
  connection.close();
}

test('Host is required once in HTTP/1.1, and not at all in HTTP/1.0', async () => {
  failed(await send(head(GET, authorization)), 40000, /Host/);
  failed(await send(head(GET, 'Host: a', 'Host: a', authorization)), 40000, /host/i);
  failed(await send(head(GET, 'Host: a', authorization, 'hOST: b')), 40000, /host/i);
  succeeded(await send(head(GET.replace('1.1', '1.0'), authorization)), 200);
  failed(await send(head(GET.replace('1.1', '1.0'), 'Host: a', 'Host: b', authorization)), 40000, /host/i);
});

test('a field after thousands of others is read', async () => {
  const many = Array.from({ length: 3000 }, () => 'a:');
  for (const hidden of ['Host: b', authorization, 'Content-Length: 5']) {
    const answer = await send(head(GET, ...fields, 'Content-Length: 0', ...many, hidden));
    const { error } = JSON.parse(answer.text);
    assert.ok(answer.status === 400 || answer.status === 431, answer.text);
    failed(answer, error);
  }
});

test('header fields over 32 KiB are refused', async () => {
  succeeded(await get(`X: ${'x'.repeat(16_000)}`), 200);
  for (const size of [33_000, 70_000, 1_000_000]) failed(await get(`X: ${'x'.repeat(size)}`), 43100);
  failed(await get(...Array.from({ length: 5000 }, (_, index) => `X-${index}: x`)), 43100);
  failed(await get(`${'X'.repeat(40_000)}: x`), 43100);
});

test('an answer to a request that cannot be read has a Date', async () => {
  const answer = await send('GET\r\n\r\n');
  failed(answer, 40000);
  const date = answer.headers.get('date') ?? '';
  assert.equal(new Date(date).toUTCString(), date);
});

test('any number of header fields may be sent within that size', async () => {
  const many = Array.from({ length: 1100 }, () => 'X: x');
  assert.equal((await get(...many)).status, 200);
  failed(await get(...many, 'Authorization: Bearer x'), 40005);
});

test('header fields that never end are refused while they arrive', async () => {
  const connection = await openRaw(service.port);
  await connection.send(`${GET}\r\n`);
  for (let i = 0; i < 50; i++) await connection.send(`X-${i}: ${'x'.repeat(1000)}\r\n`);
  failed(await connection.answer(), 43100);
  connection.close();
});

test('a malformed header is refused', async () => {
  const wrong = [
    'X',
    'X y: z',
    'X : y',
    ' X: y',
    ': y',
    'X\0: y',
    'X: a\0b',
    'X: a\x01b',
    'X: a\rb',
    'X(: y',
    'X: y\r\n folded',
  ];
  for (const field of wrong) await unreadable(head(GET, ...fields, field));
  await unreadable(`${GET}\r\n Host: x\r\n\r\n`);
});

test('a transfer-coding other than chunked is not supported', async () => {
  for (const coding of ['gzip, chunked', 'gzip, deflate, chunked', 'x-custom, chunked']) {
    const bytes = head(POST, ...fields, JSON_TYPE, `Transfer-Encoding: ${coding}`) + chunk(PLANT) + chunk('');
    failed(await send(bytes), 50100);
  }
});

test('a transfer-coding that does not mark the end of the body is refused', async () => {
  for (const coding of [
    'gzip',
    'chunked, gzip',
    'identity',
    'chunked, chunked',
    'xchunked',
    'chunked;x',
    '',
    ',',
  ]) {
    const bytes = head(POST, ...fields, JSON_TYPE, `Transfer-Encoding: ${coding}`) + chunk(PLANT) + chunk('');
    const answer = await send(bytes);
    failed(answer, answer.status === 501 ? 50100 : 40000);
  }
  const twice = ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'];
  const answer = await send(head(POST, ...fields, JSON_TYPE, ...twice) + chunk(PLANT) + chunk(''));
  failed(answer, answer.status === 501 ? 50100 : 40000);
});

test('Transfer-Encoding in HTTP/1.0 is refused', async () => {
  const bytes = head(POST.replace('1.1', '1.0'), ...fields, JSON_TYPE, 'Transfer-Encoding: chunked');
  failed(await send(bytes + chunk(PLANT) + chunk('')), 40000);
});

test('Transfer-Encoding together with Content-Length is refused, and nothing after it runs as a request', async () => {
  const smuggled = head('DELETE /plants/1 HTTP/1.1', ...fields);
  for (const [first, second] of [
    ['Content-Length: 5', 'Transfer-Encoding: chunked'],
    ['Transfer-Encoding: chunked', 'Content-Length: 5'],
  ]) {
    const bytes = head(POST, ...fields, JSON_TYPE, `${first}`, `${second}`) + chunk('') + smuggled;
    await unreadable(bytes);
  }
});

test('a malformed or repeated Content-Length is refused', async () => {
  const wrong = ['-1', '+16', '16x', '0x10', '1.6', '16, 16', '1 6', '99999999999999999999999', '', '१६'];
  for (const length of wrong) {
    const bytes = Buffer.from(head(POST, ...fields, JSON_TYPE, `Content-Length: ${length}`) + PLANT);
    failed(await send(bytes), 40000);
  }
  for (const lengths of [
    ['16', '16'],
    ['16', '5'],
  ]) {
    const twice = lengths.map((length) => `Content-Length: ${length}`);
    await unreadable(head(POST, ...fields, JSON_TYPE, ...twice) + PLANT);
  }
});

test('a chunked body is read, with small extensions and trailers', async () => {
  const start = head(POST, ...fields, JSON_TYPE, 'Transfer-Encoding: chunked');
  const pieces = [...PLANT].map(chunk).join('');
  for (const body of [
    chunk(PLANT) + chunk(''),
    pieces + chunk(''),
    `10;name=value\r\n${PLANT}\r\n0\r\n\r\n`,
    `${chunk(PLANT)}0\r\nX-Trailer: 1\r\n\r\n`,
    `0000010\r\n${PLANT}\r\n0\r\n\r\n`,
  ]) {
    succeeded(await send(start + body), 201);
  }
});

test('malformed chunks are refused', async () => {
  const start = head(POST, ...fields, JSON_TYPE, 'Transfer-Encoding: chunked');
  for (const body of [
    'x\r\n',
    '-1\r\n',
    '10 \n',
    `10\r\n${PLANT}x\r\n`,
    '0x10\r\n',
    'fffffffffffffffff\r\n',
    '\r\n',
    '1_0\r\n',
  ]) {
    failed(await send(start + body), 40000);
  }
  const endless = await send(`${start}10;${'x'.repeat(20_000)}`);
  failed(endless, endless.status === 413 ? 41300 : 40000);
});

test('a body that breaks after its request was answered gets no second answer', async () => {
  const refusals: [string[], ErrorCode][] = [
    [['POST /nothing HTTP/1.1', ...fields], 40400],
    [['PUT /plants HTTP/1.1', ...fields], 40500],
    [[POST, 'Host: x'], 40100],
    [[POST, ...fields, 'Content-Type: x/y'], 41500],
  ];
  for (const [[line = '', ...own], code] of refusals) {
    const start = head(line, ...own, 'Transfer-Encoding: chunked') + chunk('hello');
    for (const bytes of [
      'x\r\n',
      'fffffffffffffffff\r\n',
      '5\r\nhelloX',
      `5;${'x'.repeat(20_000)}`,
      undefined,
    ]) {
      for (const waits of [true, false]) {
        const connection = await openRaw(service.port);
        await connection.send(waits ? start : start + (bytes ?? ''));
        failed(await connection.answer(), code);
        if (waits) await connection.send(bytes ?? '');
        if (bytes === undefined) connection.end();
        assert.equal(await connection.ended(), 'closed');
        connection.close();
      }
    }
  }
});

test('a body that breaks is answered after the requests before it, once, and nothing after it is run', async () => {
  const create = `${head(POST, ...fields, JSON_TYPE, `Content-Length: ${PLANT.length}`)}${PLANT}`;
  const broken = `${head(POST, ...fields, JSON_TYPE, 'Transfer-Encoding: chunked')}5\r\n{"naXX${create}`;
  const before = (await service.request('GET', '/plants')).text;
  for (const size of [1, 100, Infinity]) {
    const connection = await openRaw(service.port);
    const sent = sendInPieces(connection, create + head(GET, ...fields) + broken, size);
    succeeded(await connection.answer(), 201);
    succeeded(await connection.answer(), 200);
    const answer = await connection.answer();
    failed(answer, 40000);
    assert.equal(answer.headers.get('connection'), 'close');
    await sent;
    assert.equal(await connection.ended(), 'closed');
    connection.close();
  }
  const after = JSON.parse((await service.request('GET', '/plants')).text);
  assert.equal(after.length, JSON.parse(before).length + 3);
});

test('nothing after a request that is refused 100 Continue, or has a meaningless body, is run', async () => {
  const before = (await service.request('GET', '/plants')).text;
  const create = `${head(POST, ...fields, JSON_TYPE, `Content-Length: ${PLANT.length}`)}${PLANT}`;
  for (const size of [1, Infinity]) {
    for (const [first, status] of [
      [`${head('POST /nothing HTTP/1.1', ...fields, 'Expect: 100-continue', 'Content-Length: 5')}hello`, 404],
      [`${head(GET, ...fields, 'Content-Length: 5')}hello`, 200],
    ] as const) {
      const connection = await openRaw(service.port);
      await sendInPieces(connection, first + create, size);
      const answer = await connection.answer();
      assert.equal(answer.status, status);
      assert.equal(answer.headers.get('connection'), 'close');
      assert.equal(await connection.ended(), 'closed');
      connection.close();
    }
  }
  assert.equal((await service.request('GET', '/plants')).text, before);
});

test('an invalid Host is refused, a valid one is not', async () => {
  const invalid = [
    'a b',
    'a:1:2',
    'a:x',
    'u@a',
    'u:p@a',
    'a/b',
    'a?b',
    'a#b',
    'http://a',
    '[::1',
    '::1',
    '[::1]x',
    '[::1%eth0]',
    '[1.2.3.4]',
    '[]',
    '[v1]',
    'a%2',
    'a%zz',
    'a\\b',
    '"a"',
    '<a>',
    'a, b',
    '\xe4',
  ];
  for (const host of invalid) {
    for (const version of ['1.1', '1.0']) {
      const bytes = Buffer.from(head(GET.replace('1.1', version), `Host: ${host}`, authorization), 'latin1');
      failed(await send(bytes), 40000, /Host/);
    }
  }
  const valid = [
    'a',
    'a.',
    'A-b_c~d',
    'a:80',
    'a:',
    '',
    ':80',
    '127.0.0.1',
    '999.1.1.1',
    '[::1]',
    '[::ffff:1.2.3.4]:80',
    '[v1.a:b]',
    'a%C3%A4',
    "!$&'()*+,;=",
  ];
  for (const host of valid) succeeded(await send(head(GET, `Host: ${host}`, authorization)), 200);
});

test('a smuggled request in the body of a GET or a DELETE is not answered', async () => {
  const smuggled = head('DELETE /plants/1 HTTP/1.1', ...fields);
  for (const method of ['GET', 'DELETE', 'HEAD', 'OPTIONS']) {
    for (const body of [
      { field: `Content-Length: ${smuggled.length}`, bytes: smuggled },
      { field: 'Transfer-Encoding: chunked', bytes: chunk(smuggled) + chunk('') },
    ]) {
      const connection = await openRaw(service.port);
      await connection.send(head(`${method} /plants/1 HTTP/1.1`, ...fields, body.field) + body.bytes);
      const answer = await connection.answer({ bodiless: method === 'HEAD' });
      assert.ok(answer.status < 500, answer.text);
      await connection.ended();
      connection.close();
    }
  }
});

test('a body on a GET or a DELETE does not matter', async () => {
  const { port } = service;
  succeeded(await exchange(port, `${head(GET, ...fields, JSON_TYPE, 'Content-Length: 5')}hello`), 200);
  const remove = 'DELETE /plants/987654 HTTP/1.1';
  failed(await exchange(port, `${head(remove, ...fields, JSON_TYPE, 'Content-Length: 5')}{"x":`), 40401);
  failed(
    await exchange(port, `${head(remove, ...fields, 'Content-Type: x/y', 'Content-Length: 5')}hello`),
    40401,
  );
  failed(await exchange(port, head(remove, ...fields, JSON_TYPE, 'Content-Length: 0')), 40401);
  failed(await exchange(port, head(remove, ...fields, JSON_TYPE)), 40401);
});

test('requests that arrive at once are answered in order', async () => {
  const connection = await openRaw(service.port);
  const create = `${head(POST, ...fields, JSON_TYPE, `Content-Length: ${PLANT.length}`)}${PLANT}`;
  const nothing = head('GET /nothing HTTP/1.1', ...fields);
  await connection.send((create + head(GET, ...fields) + nothing).repeat(20));
  for (let i = 0; i < 20; i++) {
    succeeded(await connection.answer(), 201);
    succeeded(await connection.answer(), 200);
    failed(await connection.answer(), 40400);
  }
  connection.close();
});

test('an unreadable request is answered after the earlier ones', async () => {
  const connection = await openRaw(service.port);
  const create = `${head(POST, ...fields, JSON_TYPE, `Content-Length: ${PLANT.length}`)}${PLANT}`;
  await connection.send(`${create.repeat(3)}garbage\r\n\r\n`);
  const answers: RawAnswer[] = [];
  for (let i = 0; i < 4; i++) answers.push(await connection.answer());
  for (const answer of answers.slice(0, 3)) succeeded(answer, 201);
  for (const answer of answers.slice(3)) failed(answer, 40000);
  await connection.ended();
  connection.close();
});

test('a request that arrives byte by byte is answered', async () => {
  const connection = await openRaw(service.port);
  const create = `${head(POST, ...fields, JSON_TYPE, `Content-Length: ${PLANT.length}`)}${PLANT}`;
  for (const byte of create) {
    await connection.send(byte);
    await new Promise(setImmediate);
  }
  succeeded(await connection.answer(), 201);
  connection.close();
});

test('a client that half-closes after its request still gets the response', async () => {
  const connection = await openRaw(service.port);
  await connection.send(`${head(POST, ...fields, JSON_TYPE, `Content-Length: ${PLANT.length}`)}${PLANT}`);
  connection.end();
  succeeded(await connection.answer(), 201);
  assert.equal(await connection.ended(), 'closed');
  connection.close();
});

test('a request that ends early is refused', async () => {
  for (const bytes of [
    'GET /pla',
    `${GET}\r\nHost: x\r\n`,
    `${head(POST, ...fields, JSON_TYPE, 'Content-Length: 100')}{"name":`,
    `${head(POST, ...fields, JSON_TYPE, 'Transfer-Encoding: chunked')}10\r\n{"na`,
    head(POST, ...fields, JSON_TYPE, 'Transfer-Encoding: chunked') + chunk('{"name":"never"}'),
  ]) {
    const connection = await openRaw(service.port);
    await connection.send(bytes);
    connection.end();
    failed(await connection.answer(), 40000);
    await connection.ended();
    connection.close();
  }
  const listed = await service.request('GET', '/plants');
  assert.ok(!listed.text.includes('never'));
});

test('empty lines before a request are skipped', async () => {
  succeeded(await send(`\r\n${head(GET, ...fields)}`), 200);
  succeeded(await send(`\r\n\r\n${head(GET, ...fields)}`), 200);
});

test('what is not HTTP is refused', async () => {
  const hello = Buffer.from('16030100c2010000be0303', 'hex');
  const texts = [
    'garbage\r\n\r\n',
    '\0\0\0\0',
    'SSH-2.0-OpenSSH_9.9\r\n',
    '{"name":"Alder"}\r\n\r\n',
    'EHLO x\r\n',
    'HTTP/1.1 200 OK\r\n\r\n',
  ];
  for (const bytes of [hello, Buffer.alloc(3000, 0xff), ...texts]) await unreadable(bytes);
  const legible = await openRaw(service.port);
  legible.end();
  assert.equal(await legible.ended(), 'closed');
  legible.close();
});

test('lines that end without a carriage return are refused', async () => {
  await unreadable(head(GET, ...fields).replaceAll('\r\n', '\n'));
  for (const field of ['Host: x', 'X: y']) {
    await unreadable(head(GET, ...fields, field, 'Z: z').replace(`${field}\r\n`, `${field}\n`));
  }
});

test('a client that resets its connection does not harm the service', async () => {
  for (let i = 0; i < 50; i++) {
    const connection = await openRaw(service.port);
    await connection.send(head(POST, ...fields, JSON_TYPE, 'Content-Length: 100'));
    connection.close();
  }
  succeeded(await get(), 200);
});

test('a client that reads only after sending all of its refused upload gets the answer', async () => {
  const piece = 'x'.repeat(3_000);
  const type = 'Content-Type: application/json';
  const fields = ['Host: x', 'Connection: close', type, `Content-Length: ${20 * piece.length}`];
  const socket = connect({ port: service.port, host: '127.0.0.1' }).pause().setEncoding('utf8');
  socket.write(head('POST /plants HTTP/1.1', ...fields));
  // As slowly as a network, so that the answer comes first.
  for (let n = 0; n < 20; n++) {
    await delay(2);
    socket.write(piece);
  }
  assert.match(await text(socket), /^HTTP\/1\.1 401 .*"error":40100/s);
});
