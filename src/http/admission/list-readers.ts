import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { list as limits } from '../../limits.ts';
import type { Measures } from '../../observability/port.ts';
import type { NextPart } from '../../plants/list.ts';
import { linesOf, slowLines } from '../observe/request-log.ts';
import type { Turns } from './turn.ts';

export type SendParts = ReturnType<typeof sendToReaders>;

/** A client that is being sent a list. `buffer` holds the part it has not fully taken. */
type Reader = {
  request: FastifyRequest;
  response: ServerResponse;
  buffer: Buffer | undefined;
  since: number;
};

/**
 * Returns a function that answers with a list in parts, reading each part once the system has taken the one before. A
 * part stays in memory until its reader has taken it. So the number of readers that lag is limited, per token and in
 * total; beyond the limit, the slowest reader's connection is reset. Between two parts a list is only a position, which
 * costs next to nothing.
 * @param inTurn reads a part in its turn
 */
export function sendToReaders(inTurn: Turns['later'], measures: Measures | undefined) {
  const { add, remove } = createReaders(measures);
  /** New ones for each part would be garbage outside of V8's heap, which it lets lie for long. */
  const buffers: Buffer[] = [];

  /** Fills the reader's buffer; resolves with whether that is the last part. */
  async function prepare(reader: Reader, next: NextPart) {
    const { text, isLast } = await next();
    const buffer = buffers.pop() ?? Buffer.allocUnsafeSlow(limits.partBytes);
    reader.buffer = buffer;
    return { length: buffer.write(text), isLast };
  }

  /** Resolves when the system has taken the part, or never will. */
  function send(reader: Reader, length: number): Promise<void> {
    reader.since = performance.now();
    add(reader);
    return new Promise((resolve) => {
      reader.response.write(reader.buffer?.subarray(0, length), () => {
        remove(reader);
        if (reader.buffer && buffers.length < KEPT_BUFFERS) buffers.push(reader.buffer);
        reader.buffer = undefined;
        resolve();
      });
    });
  }

  return async (next: NextPart, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { raw: response } = reply.hijack();
    const { socket } = request.raw;
    const reader: Reader = { request, response, buffer: undefined, since: 0 };
    response.once('close', () => remove(reader));
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) response.setHeader(name, value);
    }
    try {
      // Only `prepare` holds the text of a part. A promise or variable that waits for a turn or a reader ages, and V8
      // would keep the text until a full garbage collection.
      const goOn = () => prepare(reader, next);
      let part = await goOn();
      await send(reader, part.length);
      while (!part.isLast && !socket.destroyed) {
        part = await inTurn(goOn);
        await send(reader, part.length);
      }
      response.end();
    } catch (error) {
      // A truncated list must not look complete, whatever the HTTP version.
      request.log.error({ err: error, ...linesOf(request) }, 'a list failed midway');
      socket.resetAndDestroy();
    }
  };
}

/** Those who were sent a part and have not taken all of it. */
function createReaders(measures: Measures | undefined) {
  const tellSlow = slowLines(() => performance.now());
  /** In the order in which they were sent their parts. */
  const readers = new Set<Reader>();
  const readersOf = new Map<string, Set<Reader>>();

  function add(reader: Reader): void {
    const token = reader.request.principal.countedAs;
    const own = readersOf.getOrInsertComputed(token, () => new Set()).add(reader);
    readers.add(reader);
    if (own.size > limits.readersPerToken) resetFirst(own);
    else if (readers.size > limits.readers) resetFirst(readers);
  }

  function remove(reader: Reader): void {
    const token = reader.request.principal.countedAs;
    const own = readersOf.get(token);
    if (own?.delete(reader) && own.size === 0) readersOf.delete(token);
    readers.delete(reader);
  }

  function resetFirst([slowest]: Iterable<Reader>): void {
    if (!slowest) return;
    const { request, since } = slowest;
    remove(slowest);
    measures?.happened('listsReset');
    tellSlow((untold) => {
      const waitedMs = Math.round(performance.now() - since);
      const about = { ...linesOf(request), user: request.principal.user.name, waitedMs, ...untold };
      request.log.warn(about, 'too many lists wait for their readers; the slowest was reset');
    });
    request.raw.socket.resetAndDestroy();
  }

  return { add, remove };
}

/** As many as lists that are sent at the same time on most days: 4 MiB. */
const KEPT_BUFFERS = 64;
