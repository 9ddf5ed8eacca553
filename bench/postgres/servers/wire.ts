/**
 * The part of PostgreSQL's protocol that shows where messages end and transactions commit
 * (https://www.postgresql.org/docs/current/protocol-message-formats.html).
 */

const LENGTH_BYTES = 4;

/** Splits a stream into messages: each call returns those that the chunk completes. */
export function createFraming(side: 'client' | 'server'): (chunk: Buffer) => Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  // A client's first message has no type.
  let typeBytes = side === 'client' ? 0 : 1;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const messages: Buffer[] = [];
    while (rest.length >= typeBytes + LENGTH_BYTES) {
      const end = typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < end) break;
      messages.push(rest.subarray(0, end));
      rest = rest.subarray(end);
      typeBytes = 1;
    }
    return messages;
  };
}

export function typeOf(message: Buffer): string {
  return String.fromCharCode(message[0] ?? 0);
}

const QUERY = 'Q';
const PARSE = 'P';
const BIND = 'B';
const SYNC = 'S';
export const READY = 'Z';

/** How a transaction creates plants: one statement, committed by Sync, or several and COMMIT. */
export type Shape = 'statement' | 'transaction';

/** Follows what a client sends, and recognises messages that let the server commit plants. */
export function createFollower(): (message: Buffer) => { shape: Shape | undefined; isAnswered: boolean } {
  const creating = new Set<string>();
  let isOpen = false;
  let hasCreated = false;

  function follow(message: Buffer): Shape | undefined {
    switch (typeOf(message)) {
      case PARSE: {
        const [name, text] = stringsOf(message, 2);
        if (/INSERT INTO plants \(/.test(text)) creating.add(name);
        else creating.delete(name);
        return undefined;
      }
      case BIND:
        if (creating.has(stringsOf(message, 2)[1])) hasCreated = true;
        return undefined;
      case SYNC:
        return !isOpen && finish() ? 'statement' : undefined;
      case QUERY: {
        const [text] = stringsOf(message, 1);
        if (text.startsWith('BEGIN')) isOpen = true;
        else if (text === 'COMMIT' || text === 'ROLLBACK') isOpen = false;
        return text === 'COMMIT' && finish() ? 'transaction' : undefined;
      }
      default:
        return undefined;
    }
  }

  function finish(): boolean {
    const had = hasCreated;
    hasCreated = false;
    return had;
  }

  return (message) => {
    const shape = follow(message);
    return { shape, isAnswered: [QUERY, SYNC].includes(typeOf(message)) };
  };
}

/** The zero-terminated strings at the start of a message. */
function stringsOf(message: Buffer, count: 1): [string];
function stringsOf(message: Buffer, count: 2): [string, string];
function stringsOf(message: Buffer, count: number): string[] {
  const strings: string[] = [];
  for (let from = 1 + LENGTH_BYTES; strings.length < count; ) {
    const end = message.indexOf(0, from);
    strings.push(message.toString('utf8', from, end));
    from = end + 1;
  }
  return strings;
}
