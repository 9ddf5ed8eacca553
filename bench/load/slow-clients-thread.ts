import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { SlowClientsTask } from './slow-clients.ts';

/** The thread of `startSlowClients`. */

// What `startSlowClients` hands over.
const { host, port, token, senders, readers, path, sipBytes }: SlowClientsTask = workerData;

const EVERY_MS = 1000;
/** Slow enough for a new or loaded service to admit all of them. */
const CONNECT_EVERY_MS = 2;

const open = new Set<Socket>();

for (let i = 0; i < Math.max(senders, readers); i++) {
  if (i < senders) send();
  if (i < readers) read();
  await sleep(CONNECT_EVERY_MS);
}
while (open.size < senders + readers) await sleep(CONNECT_EVERY_MS);
parentPort?.on('message', () => parentPort?.postMessage(open.size));
parentPort?.postMessage('connected');

/** Sends the beginning of a request, and then a byte at a time. */
function send(): void {
  const socket = connect({ host, port });
  const timer = setInterval(() => socket.write('x'), EVERY_MS);
  socket.resume();
  socket.once('connect', () => socket.write('GET /plants HTTP/1.1\r\nx-slow: '));
  keep(socket, timer, send);
}

/** Sends a request, then reads a few bytes at a time, or none. */
function read(): void {
  // Node stops reading when the callback returns false.
  const onread = { buffer: Buffer.alloc(Math.max(1, sipBytes)), callback: () => false };
  const socket = connect({ host, port, onread });
  const timer = setInterval(() => sipBytes > 0 && socket.resume(), EVERY_MS);
  const fields = `host: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n`;
  socket.once('connect', () => socket.write(`GET ${path} HTTP/1.1\r\n${fields}\r\n`));
  keep(socket, timer, read);
}

/** Reconnects when the service has closed the connection. */
function keep(socket: Socket, timer: NodeJS.Timeout, again: () => void): void {
  socket.once('connect', () => open.add(socket));
  socket.on('error', () => {});
  socket.once('end', () => socket.end());
  socket.once('close', () => {
    clearInterval(timer);
    open.delete(socket);
    setTimeout(again, EVERY_MS);
  });
}
