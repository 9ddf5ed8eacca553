import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { http as limits } from '../../limits.ts';
import type { Clock } from '../../runtime.ts';

/** How far a connection had got, and since when. */
type Progress = { written: number; waiting: number; unsent: number; since: number };

/**
 * Closes connections whose client takes nothing of what is waiting for it. One look at all of them now and then
 * costs less than a timer for each answer.
 */
export function closeStalledReaders(server: Server, clock: Clock): void {
  const connections = new Map<Socket, Progress>();

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { written: 0, waiting: 0, unsent: 0, since: 0 });
    socket.once('close', () => connections.delete(socket));
  });

  const sweep = setInterval(() => {
    const now = clock.now();
    for (const [socket, before] of connections) {
      const { bytesWritten: written, writableLength: waiting } = socket;
      const unsent = unsentBytes(socket);
      const isStalled =
        waiting > 0 && waiting === before.waiting && written === before.written && unsent === before.unsent;
      if (!isStalled) connections.set(socket, { written, waiting, unsent, since: now });
      else if (now - before.since > limits.stalledReaderMs) socket.destroy();
    }
  }, limits.sweepEveryMs);
  sweep.unref();
  server.once('close', () => clearInterval(sweep));
}

/**
 * What the system has not taken yet of the write that is under way. The public counters stand still until all of it is
 * taken, which for a long answer and a slow client lasts minutes; Node's own time-out for sockets looks at the same.
 */
function unsentBytes(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  const size: unknown =
    typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'writeQueueSize') : 0;
  return typeof size === 'number' ? size : 0;
}
