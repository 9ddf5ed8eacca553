import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { watchArrivals } from '../service/eventually.ts';
import { type Framed, frame, type RawAnswer } from './raw-framing.ts';

/** A TCP connection for tests that control every byte. */
export type RawConnection = {
  /** Resolves when the kernel has the bytes, or at once when the connection is gone. */
  send(bytes: string | Buffer): Promise<void>;
  /** Half-closes: sends nothing more, but still reads answers. */
  end(): void;
  /**
   * The next complete answer, including interim ones (1xx). `bodiless` is for the answer to a HEAD request. Rejects
   * when the connection ends before the answer, and after 20 s.
   */
  answer(options?: { bodiless?: boolean }): Promise<RawAnswer>;
  /** How the connection ended. Rejects after 20 s, and when bytes arrived that no `answer` took. */
  ended(): Promise<Ending>;
  close(): void;
};

export type Ending = 'closed' | 'reset';

export async function openRaw(port: number): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  await once(socket, 'connect');
  return over(socket);
}

/** Sends the bytes in pieces of this size, each in its own packet if the network permits. */
export async function sendInPieces(connection: RawConnection, bytes: string, size: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += size) {
    await connection.send(bytes.slice(at, at + size));
    await new Promise(setImmediate);
  }
}

/** Sends the bytes on a new connection and returns the first answer. */
export async function exchange(port: number, bytes: string | Buffer): Promise<RawAnswer> {
  const connection = await openRaw(port);
  try {
    await connection.send(bytes);
    return await connection.answer();
  } finally {
    connection.close();
  }
}

/** The code of the error with which the port refuses a connection; undefined if it accepts one. */
export async function failureToConnect(port: number): Promise<unknown> {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    await once(socket, 'connect');
    return undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  } finally {
    socket.destroy();
  }
}

function over(socket: Socket): RawConnection {
  let buffer = Buffer.alloc(0);
  let ending: Ending | undefined;
  const arrivals = watchArrivals();
  const end = (how: Ending): void => {
    ending ??= how;
    arrivals.wake();
  };
  socket.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk]);
    arrivals.wake();
  });
  socket.on('end', () => end('closed'));
  socket.on('error', () => end('reset'));
  socket.on('close', () => end('closed'));

  const until = <T>(what: string, look: () => T | undefined) =>
    arrivals.until(look, () => `No ${what} in time; ${excerpt(buffer)}`);

  return {
    send: (bytes) =>
      new Promise((resolve) => {
        if (socket.writable) socket.write(bytes, () => resolve());
        else resolve();
      }),
    end: () => socket.end(),
    answer: (options = {}) =>
      until('answer', () => {
        const framed: Framed | undefined = frame(buffer, options.bodiless ?? false, ending === 'closed');
        if (framed === undefined && ending !== undefined) {
          throw new Error(`The connection was ${ending} before an answer; ${excerpt(buffer)}`);
        }
        if (framed !== undefined) buffer = buffer.subarray(framed.length);
        return framed?.answer;
      }),
    ended: () =>
      until('end of the connection', () => {
        if (ending !== undefined && buffer.length > 0) throw new Error(`Left over; ${excerpt(buffer)}`);
        return ending;
      }),
    close: () => socket.destroy(),
  };
}

function excerpt(buffer: Buffer): string {
  return `${buffer.length} bytes arrived: ${JSON.stringify(buffer.toString('latin1', 0, 300))}`;
}
