import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { http as limits } from '../../limits.ts';

/** A connection's progress, and since when it has not changed. */
type Progress = { written: number; waiting: number; unsent: number; since: number };

/**
 * Resets connections whose client does not read its pending response; closed, a truncated response could look
 * complete. Checking all of them periodically costs less than a timer per response.
 * @param elapsed the monotonic time, in milliseconds
 */
export function closeStalledReaders(server: Server, elapsed: () => number): void {
  const connections = new Map<Socket, Progress>();

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { written: 0, waiting: 0, unsent: 0, since: 0 });
    socket.once('close', () => connections.delete(socket));
  });

  const sweep = setInterval(() => {
    const now = elapsed();
    for (const [socket, before] of connections) {
      const { bytesWritten: written, writableLength: waiting } = socket;
      const unsent = unsentBytes(socket);
      const isStalled =
        waiting > 0 && waiting === before.waiting && written === before.written && unsent === before.unsent;
      if (!isStalled) connections.set(socket, { written, waiting, unsent, since: now });
      else if (now - before.since > limits.stalledReaderMs) socket.resetAndDestroy();
    }
  }, limits.sweepEveryMs);
  sweep.unref();
  server.once('close', () => clearInterval(sweep));
}

/**
 * How much of the current write the system has not taken. The public counters do not change until it has taken
 * everything, which takes minutes for a long response and a slow client. Node's own socket timeout uses the same
 * value.
 */
function unsentBytes(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  const size: unknown =
    typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'writeQueueSize') : 0;
  return typeof size === 'number' ? size : 0;
}
