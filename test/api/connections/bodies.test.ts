import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';
import { exchange, openRaw } from '../../../testkit/sockets/raw-client.ts';
import { chunk, head, usual } from '../../../testkit/sockets/raw-request.ts';

const service = await startService();
after(() => service.stop());

const POST = 'POST /plants HTTP/1.1';
const JSON_TYPE = 'Content-Type: application/json';
const PLANT = '{"name":"Alder"}';
const KIB = 1024;
const fields = usual(service);
const CHUNKED = head(POST, ...fields, JSON_TYPE, 'Transfer-Encoding: chunked');

const send = (bytes: string | Buffer) => exchange(service.port, bytes);
const post = (...more: string[]) =>
  send(head(POST, ...fields, `Content-Length: ${PLANT.length}`, ...more) + PLANT);

/** A plant as JSON text of exactly this many bytes. */
const padded = (bytes: number) => PLANT + ' '.repeat(bytes - PLANT.length);

test('the body must be application/json in UTF-8', async () => {
  const right = [
    ...[
      'application/json',
      'Application/JSON',
      'application/json;charset=utf-8',
      'application/json; charset=UTF-8',
    ],
    ...[
      'application/json;charset="utf-8"',
      'application/json ; charset=Utf-8',
      'application/json; CHARSET=utf-8',
    ],
  ];
  for (const type of right) succeeded(await post(`Content-Type: ${type}`), 201);
});

test('another type or charset is refused', async () => {
  const types = [
    'text/plain',
    'text/json',
    'application/jsonp',
    'application/json5',
    'application/vnd.api+json',
    'json',
  ];
  const forms = [
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/html, application/json',
  ];
  const broken = [
    '',
    ';',
    'application',
    'application/',
    '/json',
    'application/json, text/plain',
    '*/*',
    'application /json',
  ];
  const charsets = [
    'latin1',
    'iso-8859-1',
    'utf-16',
    'utf-8x',
    'us-ascii',
    '"utf-8',
    'utf-8; charset=latin1',
    '',
  ];
  for (const type of [...types, ...forms, ...broken]) failed(await post(`Content-Type: ${type}`), 41500);
  for (const charset of charsets)
    failed(await post(`Content-Type: application/json; charset=${charset}`), 41500);
  failed(await post(), 41500);
  failed(await post('Content-Type: application/json', 'Content-Type: application/json'), 40000);
  failed(await post('Content-Type: application/json', 'Content-Type: text/plain'), 40000);
});

test('a body in a content-coding is refused, and the answer says what is supported', async () => {
  for (const coding of ['gzip', 'br', 'deflate', 'zstd', 'x-gzip', 'gzip, identity', 'identity, identity']) {
    const answer = await post(JSON_TYPE, `Content-Encoding: ${coding}`);
    failed(answer, 41501);
    assert.equal(answer.headers.get('accept-encoding'), 'identity');
  }
  const zipped = gzipSync(PLANT);
  const headers = { 'content-encoding': 'gzip' };
  failed(await service.request('POST', '/plants', { body: zipped, headers }), 41501);
  succeeded(await post(JSON_TYPE, 'Content-Encoding: identity'), 201);
});

test('a body of 64 KiB is read, one byte more is refused', async () => {
  const sized = (size: number) => head(POST, ...fields, JSON_TYPE, `Content-Length: ${size}`) + padded(size);
  succeeded(await send(sized(64 * KIB)), 201);
  failed(await send(sized(64 * KIB + 1)), 41300, /65536/);
  const inChunks = (size: number) => CHUNKED + chunk(padded(size)) + chunk('');
  succeeded(await send(inChunks(64 * KIB)), 201);
  failed(await send(inChunks(64 * KIB + 1)), 41300, /65536/);
});

test('a body whose announced length is too large is refused before it is sent', async () => {
  for (const size of ['65537', '10000000000', '9007199254740993']) {
    const connection = await openRaw(service.port);
    await connection.send(head(POST, ...fields, JSON_TYPE, `Content-Length: ${size}`));
    failed(await connection.answer(), 41300);
    connection.close();
  }
});

test('a body that turns out too large is refused while it arrives', async () => {
  const connection = await openRaw(service.port);
  await connection.send(CHUNKED);
  for (let i = 0; i < 65; i++) await connection.send(chunk(' '.repeat(KIB)));
  failed(await connection.answer(), 41300);
  connection.close();
});

test('a client that keeps sending a refused body can read the response', async () => {
  const piece = ' '.repeat(16 * KIB);
  for (const [start, wrap] of [
    [head(POST, ...fields, JSON_TYPE, 'Content-Length: 4194304'), (data: string) => data],
    [CHUNKED, chunk],
  ] as const) {
    const connection = await openRaw(service.port);
    await connection.send(start);
    for (let i = 0; i < 256; i++) await connection.send(wrap(piece));
    failed(await connection.answer(), 41300);
    connection.close();
  }
});

test('an ordinary HTTP client that uploads too much reads the answer, whatever the reason', async () => {
  const body = Buffer.alloc(8 * 1024 * KIB, ' ');
  const typed = (type: string) => ({ body, headers: { 'content-type': type } });
  for (let i = 0; i < 3; i++) {
    failed(await service.request('POST', '/plants', { body }), 41300);
    failed(await service.request('POST', '/plants', { body, token: null }), 40100);
    failed(await service.request('POST', '/plants', typed('text/plain')), 41500);
    failed(await service.request('POST', '/plants', { body, headers: { 'content-encoding': 'br' } }), 41501);
    failed(await service.request('POST', '/nothing', { body }), 40400);
    failed(await service.request('PUT', '/plants', typed('text/plain')), 40500);
    failed(await service.request('DELETE', '/plants/987654', { body }), 40401);
  }
});

test('a body that is refused for another reason does not spoil the connection', async () => {
  const connection = await openRaw(service.port);
  const withBody = (...more: string[]) =>
    connection.send(head(POST, 'Host: x', `Content-Length: ${PLANT.length}`, ...more) + PLANT);
  const authorization = `Authorization: Bearer ${service.token}`;
  await withBody(JSON_TYPE);
  failed(await connection.answer(), 40100);
  await connection.send(`${CHUNKED}${chunk('{')}${chunk('')}`);
  failed(await connection.answer(), 40001);
  await withBody(authorization, JSON_TYPE);
  succeeded(await connection.answer(), 201);
  connection.close();
});

test('a body in thousands of chunks is refused while it arrives, and nothing after it is read', async () => {
  const shredded = chunk(' ').repeat(20_000) + chunk('') + head('GET /plants HTTP/1.1', ...fields);
  const stranger = head(POST, 'Host: x', 'Authorization: Bearer x', JSON_TYPE, 'Transfer-Encoding: chunked');
  for (const [start, code] of [
    [CHUNKED, 41300],
    [stranger, 40101],
  ] as const) {
    const connection = await openRaw(service.port);
    await connection.send(start + shredded);
    const answer = await connection.answer();
    failed(answer, code);
    assert.equal(answer.headers.get('connection'), 'close');
    await connection.ended();
  }
  succeeded(await send(CHUNKED + [...PLANT].map(chunk).join('') + chunk('')), 201);
});

test('the token is checked before the size of the body', async () => {
  const tooLarge = head(POST, 'Host: x', JSON_TYPE, 'Content-Length: 70000') + padded(70_000);
  failed(await send(tooLarge), 40100);
});

test('a client that waits for 100 Continue gets it, and then the answer', async () => {
  const length = `Content-Length: ${PLANT.length}`;
  for (const expectation of ['100-continue', '100-Continue']) {
    const connection = await openRaw(service.port);
    await connection.send(head(POST, ...fields, JSON_TYPE, length, `Expect: ${expectation}`));
    assert.equal((await connection.answer()).status, 100);
    await connection.send(PLANT);
    succeeded(await connection.answer(), 201);
    connection.close();
  }
});

test('a client that waits for 100 Continue with too large a body gets the refusal instead', async () => {
  const connection = await openRaw(service.port);
  await connection.send(head(POST, ...fields, JSON_TYPE, 'Content-Length: 70000', 'Expect: 100-continue'));
  failed(await connection.answer(), 41300);
  connection.close();
});

test('another expectation is refused', async () => {
  for (const expectation of ['200-ok', '100-continue, x', 'x', '100-continued', '']) {
    failed(await post(JSON_TYPE, `Expect: ${expectation}`), 41700);
  }
  const twice = await post(JSON_TYPE, 'Expect: 100-continue', 'Expect: x');
  failed(twice, twice.status === 417 ? 41700 : 40000);
});
