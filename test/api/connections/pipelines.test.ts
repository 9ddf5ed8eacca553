import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom, testSeed } from '../../../testkit/random/seeded.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';
import { openRaw, type RawConnection } from '../../../testkit/sockets/raw-client.ts';
import type { RawAnswer } from '../../../testkit/sockets/raw-framing.ts';
import { chunk, head, usual } from '../../../testkit/sockets/raw-request.ts';

/*
 * Sends random requests in pipelines, split at random places, and checks one rule: the answers are those of the
 * requests, one each and in order, up to one that announces the end of the connection. Nothing after that one is run.
 */

const PIPELINES = 250;

const service = await startService();
after(() => service.stop());

const fields = usual(service);
const TYPE = 'Content-Type: application/json';
const CHUNKED = 'Transfer-Encoding: chunked';

type Request = {
  name: string;
  bytes: string;
  check(answer: RawAnswer): void;
  /** Whether the connection ends after its answer. */
  ends: 'always' | 'never' | 'as said' | 'in any case';
  bodiless?: boolean;
  creates?: number;
  removes?: number;
};

const random = seededRandom(testSeed);
const pick = <T>(...choices: T[]): T => choices[Math.trunc(random() * choices.length)] as T;

let lastId = 0;
const plants = new Set<number>();

function withBody(line: string, body: string, ...more: string[]): string {
  return pick(
    head(line, ...fields, TYPE, ...more, `Content-Length: ${body.length}`) + body,
    head(line, ...fields, TYPE, ...more, CHUNKED) +
      chunk(body.slice(0, 7)) +
      chunk(body.slice(7)) +
      chunk(''),
  );
}

function creation(...more: string[]): Request {
  const id = ++lastId;
  return {
    name: `create ${more.join()}`,
    bytes: withBody('POST /plants HTTP/1.1', `{"id":${id},"name":"Alder"}`, ...more),
    check(answer) {
      succeeded(answer, 201);
      assert.equal(answer.headers.get('location'), `/plants/${id}`);
    },
    ends: 'never',
    creates: id,
  };
}

function removal(): Request {
  const id = pick(...plants, lastId);
  return {
    name: 'remove',
    bytes: head(`DELETE /plants/${id} HTTP/1.1`, ...fields),
    check: (answer) => void (plants.has(id) ? succeeded(answer, 204) : failed(answer, 40401)),
    ends: 'never',
    removes: id,
  };
}

/** A request that only reads or is refused. Its query distinguishes its refusal from others. */
function reading(line: string, status: number, more: string[] = [], body = ''): Request {
  return {
    name: `${line} ${more.join()}`,
    bytes: head(`${line} HTTP/1.1`, ...fields, ...more) + body,
    check: (answer) => assert.equal(answer.status, status, answer.text),
    ends: 'never',
    bodiless: line.startsWith('HEAD'),
  };
}

const ASKS = [
  ['Connection: Upgrade', 'Upgrade: h2c'],
  ['Upgrade: websocket'],
  ['Connection: keep-alive, upgrade'],
];
const broken = () => pick('zz\r\n', '5\r\n{"naXX', 'fffffffffffffffff\r\n', '-1\r\n');

const kinds: (() => Request)[] = [
  creation,
  creation,
  creation,
  removal,
  () => reading('GET /plants?limit=1', 200),
  () => reading('GET /plants', 200),
  () => reading('HEAD /plants?limit=1', 200),
  () => reading('OPTIONS /plants', 204),
  () => reading('GET /plants?limit=0', 400),
  () => reading('GET /%', 400),
  () => reading('GET http://u@h/plants', 400),
  () => reading('PUT /plants', 405, [TYPE, 'Content-Length: 5'], 'hello'),
  () => reading('POST /nothing', 404, [CHUNKED], chunk('hello') + chunk('')),
  () => reading('POST /plants', 415, ['Content-Type: x/y', 'Content-Length: 5'], 'hello'),
  () => reading('POST /plants', 400, [TYPE, 'Content-Length: 5'], 'hello'),
  () => reading('GET /plants?limit=1', 417, ['Expect: x']),
  () => ({ ...creation('Expect: 100-continue'), ends: 'as said' }),
  () => ({
    ...reading('POST /none', 404, ['Expect: 100-continue', 'Content-Length: 5'], 'hello'),
    ends: 'always',
  }),
  () => ({
    ...reading('POST /plants', 413, [TYPE, 'Content-Length: 70000'], ' '.repeat(70_000)),
    ends: 'as said',
  }),
  // Ends the connection.
  () => ({ ...creation(...pick(...ASKS)), ends: 'always' }),
  () => ({ ...reading('GET /plants?limit=1', 200, pick(...ASKS)), ends: 'always' }),
  () => ({ ...reading('HEAD /plants', 200, pick(...ASKS)), ends: 'always' }),
  () => ({ ...reading('CONNECT x:1', 405), ends: 'always' }),
  () => ({ ...reading('GET /plants?limit=1', 200, ['Content-Length: 5'], 'hello'), ends: 'always' }),
  () => ({ ...reading('GET /plants?limit=1', 200, ['Connection: close']), ends: 'always' }),
  () => ({ ...reading('POST /plants', 400, [TYPE, CHUNKED], broken()), ends: 'always' }),
  () => ({ ...reading('POST /nothing', 404, [TYPE, CHUNKED], broken()), ends: 'in any case' }),
  () => ({ ...reading('GET /plants HTTP/1.1', 400), ends: 'always' }),
  () => ({ ...reading('GARBAGE', 400), ends: 'always' }),
];

/** Splits the bytes at random places, or not at all. */
async function sendPieces(connection: RawConnection, bytes: string): Promise<void> {
  const largest = pick(1, 10, 100, 1000, Infinity);
  for (let at = 0; at < bytes.length; ) {
    // Sending a large body byte by byte would show nothing more.
    const size = Math.max(Math.ceil(random() * largest), bytes.length > 20_000 ? 1000 : 1);
    await connection.send(bytes.slice(at, at + size));
    at += size;
    await (random() < 0.02 ? delay(2) : new Promise(setImmediate));
  }
}

/** The first answer that is not interim. */
async function final(connection: RawConnection, options: { bodiless: boolean }): Promise<RawAnswer> {
  const answer = await connection.answer(options);
  return answer.status === 100 ? final(connection, options) : answer;
}

async function play(requests: Request[], halfCloses: boolean): Promise<void> {
  const connection = await openRaw(service.port);
  const bytes = requests.map((request) => request.bytes).join('');
  const sent = sendPieces(connection, bytes).then(() => halfCloses && connection.end());
  let isOver = false;
  for (const { check, ends, bodiless = false, creates, removes } of requests) {
    const answer = await final(connection, { bodiless });
    check(answer);
    if (creates !== undefined) plants.add(creates);
    if (removes !== undefined) plants.delete(removes);
    const saysSo = answer.headers.get('connection') === 'close';
    if (ends === 'always') assert.ok(saysSo, `${answer.status} without Connection: close`);
    if (ends === 'never' && saysSo) assert.ok(halfCloses && requests.at(-1)?.check === check);
    isOver = saysSo || ends === 'in any case';
    if (isOver) break;
  }
  await sent;
  if (isOver || halfCloses) await connection.ended();
  connection.close();
}

test(`each answer belongs to its request, and what follows the last one is not run (seed ${testSeed})`, async () => {
  for (let n = 0; n < PIPELINES; n++) {
    const requests = Array.from({ length: Math.ceil(random() * 12) }, () => pick(...kinds)());
    const names = requests.map(({ name }) => name).join('; ');
    try {
      await play(requests, random() < 0.3);
    } catch (error) {
      throw new Error(`Pipeline ${n}: ${names}`, { cause: error });
    }
    const listed = succeeded(await service.request('GET', '/plants?fields=id'), 200);
    assert.deepEqual(new Set((listed as { id: number }[]).map(({ id }) => id)), plants, names);
  }
});
