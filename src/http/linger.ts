import type { Socket } from 'node:net';
import { http as limits } from '../limits.ts';

/**
 * Closes the connection of a refused upload so that its sender can read the answer: the answer goes out, what
 * still arrives is thrown away for a bounded time and size, then the connection is closed. Closing at once
 * would reset it while the client is still sending, and the reset can overtake the answer.
 */
export function lingerBeforeClose(socket: Socket): void {
  const close = () => socket.destroy();
  // Node calls this behind an answer with `Connection: close`.
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(close, limits.lingerMs);
    let received = 0;
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > limits.lingerBytes) close();
    });
    socket.once('end', close);
    socket.once('close', () => clearTimeout(timer));
    socket.resume();
  };
}
