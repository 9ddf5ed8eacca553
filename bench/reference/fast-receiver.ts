import { createServer, type Socket } from 'node:net';
import { monotonicMs } from '../measure/clock.ts';
import type { Tally } from '../servers/fast-receiver.ts';
import { serve } from './serve.ts';

/**
 * A receiver that is faster than any sender: it answers every POST with 204, reads only enough of it to find the next
 * one, and counts. `GET` returns the count, `DELETE` resets it.
 */

const HEAD_END = '\r\n\r\n';
const ACCEPTED = Buffer.from(`HTTP/1.1 204 No Content${HEAD_END}`);

let tally: Tally = newTally();

function newTally(): Tally {
  return { requests: 0, first: 0, last: 0, sample: undefined };
}

serve(
  createServer({ noDelay: true }, (socket) => {
    let unread = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      unread = answerAll(socket, unread === '' ? chunk : unread + chunk);
    });
    // A sender that has gone needs no response.
    socket.on('error', () => {});
  }),
);

/** Answers the complete requests; returns the rest of the text. */
function answerAll(socket: Socket, text: string): string {
  for (let start = 0; ; ) {
    const headEnd = text.indexOf(HEAD_END, start);
    if (headEnd < 0) return text.slice(start);
    const bodyStart = headEnd + HEAD_END.length;
    const end = bodyStart + bodyLength(text, start, headEnd);
    if (end > text.length) return text.slice(start);
    if (text.startsWith('POST', start)) {
      accept(text, start, end);
      socket.write(ACCEPTED);
    } else {
      control(socket, text.startsWith('DELETE', start));
    }
    start = end;
  }
}

const LENGTH = /\r\ncontent-length: *(\d+)/i;

function bodyLength(text: string, start: number, headEnd: number): number {
  return Number(LENGTH.exec(text.slice(start, headEnd))?.[1] ?? 0);
}

function accept(text: string, start: number, end: number): void {
  const now = monotonicMs();
  if (tally.requests === 0) {
    tally.first = now;
    tally.sample = text.slice(start, end);
  }
  tally.last = now;
  tally.requests++;
}

function control(socket: Socket, isReset: boolean): void {
  const body = JSON.stringify(tally);
  if (isReset) tally = newTally();
  socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}${HEAD_END}${body}`, 'latin1');
}
