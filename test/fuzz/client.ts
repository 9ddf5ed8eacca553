import { setTimeout as pause } from 'node:timers/promises';
import { openRaw, type RawConnection } from '../../testkit/sockets/raw-client.ts';
import type { RawAnswer } from '../../testkit/sockets/raw-framing.ts';
import { bytesOf, curlOf, type Draft } from './draft.ts';

/** Sends one request at a time over a connection that is kept as long as the service allows. */
export type Client = {
  /** The final answer. A malformed or missing answer is an error. */
  send(draft: Draft): Promise<RawAnswer>;
  /** The same over its own connection, sent to its end, so that an endless answer ends. */
  sendLast(draft: Draft): Promise<RawAnswer>;
  close(): void;
};

/** A failure, with the request and the answer. */
export class Mismatch extends Error {
  constructor(what: string, request: string, answer?: RawAnswer) {
    const got = answer === undefined ? '' : `\n  answer: ${shownAnswer(answer)}`;
    super(`${what}\n  request: ${request}${got}`);
    this.name = 'Mismatch';
  }
}

export function createClient(service: { port: number; url: string }): Client {
  let connection: RawConnection | undefined;
  /** Made only for a failure. */
  let before = () => '';

  async function exchange(draft: Draft): Promise<RawAnswer> {
    connection ??= await openRaw(service.port);
    const current = connection;
    // Not awaited: a refused upload may be answered before it was read.
    void current.send(bytesOf(draft));
    const bodiless = draft.method === 'HEAD';
    let answer = await current.answer({ bodiless });
    while (answer.status < 200) answer = await current.answer({ bodiless });
    return answer;
  }

  const close = () => {
    connection?.close();
    connection = undefined;
  };

  async function told(draft: Draft, work: () => Promise<RawAnswer>): Promise<RawAnswer> {
    try {
      for (;;) {
        const answer = await work();
        if (!isOverload(answer)) return answer;
        await pause(OVERLOAD_MS);
      }
    } catch (error) {
      close();
      const reason = error instanceof Error ? error.message : String(error);
      throw new Mismatch(reason, curlOf(draft, service.url) + before());
    }
  }

  return {
    send: (draft) =>
      told(draft, async () => {
        const answer = await exchange(draft);
        before = () => `\n  before: ${curlOf(draft, service.url)}\n  answered: ${shownAnswer(answer)}`;
        if (answer.headers.get('connection')?.toLowerCase() === 'close' || asksToClose(draft)) close();
        return answer;
      }),
    sendLast: (draft) =>
      told(draft, async () => {
        const last = await openRaw(service.port);
        try {
          await last.send(bytesOf(draft));
          last.end();
          return await last.answer();
        } finally {
          last.close();
        }
      }),
    close,
  };
}

/** The service shares its thread with all who ask it here, so a busy machine may overload it; nothing was done. */
function isOverload({ status, text }: RawAnswer): boolean {
  return status === 503 && text.startsWith('{"error":50300,');
}

const OVERLOAD_MS = 20;

function asksToClose({ version, fields }: Draft): boolean {
  return version !== '1.1' || fields.includes('Connection: close');
}

const SHOWN = 1_000;

function shownAnswer({ status, fields, text }: RawAnswer): string {
  const headers = fields.map(([name, value]) => `${name}: ${value}`).join(', ');
  return `${status} (${headers}) ${text.slice(0, SHOWN)}`;
}
