import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { createHistogram, type Histogram } from '../measure/histogram.ts';
import { createAnswerStream } from './answer-stream.ts';
import type { Latencies, OpenLoad, OpenLoadResult, OpenLoadTask } from './open-loop.ts';

/**
 * The thread of `sendOpenLoad`: it writes and reads bare sockets, because an HTTP client could not generate the load.
 */

// What `sendOpenLoad` hands over.
const { host, port, load }: OpenLoadTask = workerData;

/** It has one request in flight at a time. */
type Connection = { socket: Socket; dueAt: number; sentAt: number };

const CONNECT_TOGETHER = 100;
const BEAT_MS = 1;
/** How long the last answers may take. */
const LAST_MS = 10_000;

const requestBytes = Buffer.from(requestText(load));
const free: Connection[] = [];
let open = 0;
let underWay = 0;
let begun = 0;
let sent = 0;
let broken = 0;
const statuses: Record<number, number> = {};
const goodput: number[] = Array.from({ length: Math.floor(load.seconds) }, () => 0);
const good = createHistogram();
const goodSinceDue = createHistogram();
const refused = createHistogram();
const lateness = createHistogram();

parentPort?.postMessage(await run());

async function run(): Promise<OpenLoadResult> {
  for (let count = 0; count < load.connections; count += CONNECT_TOGETHER) {
    const wanted = Math.min(CONNECT_TOGETHER, load.connections - count);
    for (let i = 0; i < wanted; i++) openConnection();
    while (free.length < open) await sleep(BEAT_MS);
  }
  begun = performance.now();
  const everyMs = 1000 / load.perSecond;
  const total = Math.floor(load.seconds * load.perSecond);
  const end = begun + load.seconds * 1000;
  while (sent < total && performance.now() < end) {
    sendDue(Math.min(total, (performance.now() - begun) / everyMs), everyMs);
    await sleep(BEAT_MS);
  }
  const unsent = total - sent;
  const last = performance.now() + LAST_MS;
  while (underWay > 0 && performance.now() < last) await sleep(BEAT_MS);
  return {
    ...{ seconds: load.seconds, sent, unsent, broken, statuses, goodput },
    ...{ good: percentiles(good), goodSinceDue: percentiles(goodSinceDue) },
    ...{ refused: percentiles(refused), lateness: percentiles(lateness) },
  };
}

/** Sends as many as are due by now, as far as connections are free. */
function sendDue(due: number, everyMs: number): void {
  while (sent < due) {
    const connection = free.pop();
    if (!connection) {
      const wanted = Math.min(CONNECT_TOGETHER, load.mostConnections - open);
      for (let i = 0; i < wanted; i++) openConnection();
      return;
    }
    const now = performance.now();
    connection.dueAt = begun + sent * everyMs;
    connection.sentAt = now;
    lateness.add(Math.max(0, now - connection.dueAt));
    sent++;
    underWay++;
    connection.socket.write(requestBytes);
  }
}

function openConnection(): void {
  open++;
  const answers = createAnswerStream();
  const onread = {
    buffer: Buffer.allocUnsafe(64 * 1024),
    callback(length: number, buffer: Uint8Array) {
      const status = answers.read(Buffer.from(buffer.buffer, buffer.byteOffset, length));
      if (status !== undefined) answered(connection, status);
      return true;
    },
  };
  const socket = connect({ host, port, noDelay: true, onread });
  const connection: Connection = { socket, dueAt: 0, sentAt: 0 };
  socket.once('connect', () => free.push(connection));
  socket.once('error', () => {});
  socket.once('close', () => lose(connection));
}

function answered(connection: Connection, status: number): void {
  // An unused connection gets a timeout response.
  if (connection.sentAt === 0) return;
  const now = performance.now();
  statuses[status] = (statuses[status] ?? 0) + 1;
  (status < 300 ? good : refused).add(now - connection.sentAt);
  if (status < 300) goodSinceDue.add(now - connection.dueAt);
  const second = Math.floor((now - begun) / 1000);
  if (status < 300 && second < goodput.length) goodput[second] = (goodput[second] ?? 0) + 1;
  connection.sentAt = 0;
  underWay--;
  free.push(connection);
}

function lose(connection: Connection): void {
  open--;
  if (connection.sentAt > 0) {
    broken++;
    underWay--;
  }
  const at = free.indexOf(connection);
  if (at !== -1) free.splice(at, 1);
}

function percentiles(histogram: Histogram): Latencies {
  return { p50: histogram.percentile(50), p99: histogram.percentile(99), most: histogram.percentile(100) };
}

function requestText({ method, path, token, body }: OpenLoad): string {
  const fields = ['host: 127.0.0.1', ...(token === undefined ? [] : [`authorization: Bearer ${token}`])];
  if (body !== undefined) {
    fields.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`);
  }
  return `${method} ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n${body ?? ''}`;
}
