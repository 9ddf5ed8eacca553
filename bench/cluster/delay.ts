import { readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * `node delay.ts <port> <to> <file>`: a TCP proxy on the loopback that passes on each piece of data as many milliseconds
 * late as the file says. It is a program, because it runs on a machine of the cluster.
 */

const [port, to, file = ''] = process.argv.slice(2);
const READ_MS = 100;
let delayMs = 0;
setInterval(() => {
  delayMs = Number(readFileSync(file, 'utf8'));
}, READ_MS);

createServer({ allowHalfOpen: true }, (client) => {
  const server = connect({ port: Number(to), host: '127.0.0.1', allowHalfOpen: true });
  passOn(client, server);
  passOn(server, client);
}).listen(Number(port), '127.0.0.1');

function passOn(from: Socket, into: Socket): void {
  // One after the other: timers of different lengths may change places.
  let last = Promise.resolve();
  const later = (action: () => void) => {
    const due = performance.now() + delayMs;
    last = last.then(() => sleep(Math.max(0, due - performance.now()))).then(action);
  };
  from.on('data', (data) => later(() => into.write(data)));
  from.on('end', () => later(() => into.end()));
  from.on('error', () => into.destroy());
  from.on('close', () => later(() => into.destroySoon()));
}
