import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { http as limits } from '../limits.ts';
import type { Clock } from '../runtime.ts';

/** How far a connection had got, and since when. */
type Progress = { written: number; waiting: number; since: number };

/**
 * Closes connections whose client takes nothing of what is waiting for it. One look at all of them now and then
 * costs less than a timer for each answer.
 */
export function closeStalledReaders(server: Server, clock: Clock): void {
  const connections = new Map<Socket, Progress>();

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { written: 0, waiting: 0, since: 0 });
    socket.once('close', () => connections.delete(socket));
  });

  const sweep = setInterval(() => {
    const now = clock.now();
    for (const [socket, before] of connections) {
      const { bytesWritten: written, writableLength: waiting } = socket;
      const isStalled = waiting > 0 && waiting === before.waiting && written === before.written;
      if (!isStalled) connections.set(socket, { written, waiting, since: now });
      else if (now - before.since > limits.stalledReaderMs) socket.destroy();
    }
  }, limits.sweepEveryMs);
  sweep.unref();
  server.once('close', () => clearInterval(sweep));
}
