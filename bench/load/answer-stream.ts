/** Reads responses from a connection with one request in flight at a time, as far as a load generator needs them. */
export type AnswerStream = {
  /** The status of the response that ends with these bytes; undefined when it continues. */
  read(bytes: Buffer): number | undefined;
};

type Body = { status: number; left: number | undefined };

const END_OF_HEAD = Buffer.from('\r\n\r\n');
/** The end of a chunked response. JSON contains no such bytes. */
const END_OF_CHUNKS = Buffer.from('\r\n0\r\n\r\n');
/** The position of the status in `HTTP/1.1 200 OK`. */
const STATUS = { start: 9, end: 12 };

export function createAnswerStream(): AnswerStream {
  let head: Buffer | undefined;
  let body: Body | undefined;
  let tail: Buffer | undefined;

  /** Reads a head; returns the bytes after it. */
  function readHead(bytes: Buffer): Buffer | undefined {
    const all = head ? Buffer.concat([head, bytes]) : bytes;
    const end = all.indexOf(END_OF_HEAD);
    if (end === -1) {
      // Its buffer is reused.
      head = Buffer.from(all);
      return undefined;
    }
    head = undefined;
    const text = all.toString('latin1', 0, end);
    body = { status: Number(text.slice(STATUS.start, STATUS.end)), left: contentLength(text) };
    return all.subarray(end + END_OF_HEAD.length);
  }

  function hasEnded(of: Body, bytes: Buffer): boolean {
    if (of.left !== undefined) {
      of.left -= bytes.length;
      return of.left <= 0;
    }
    if (bytes.length >= END_OF_CHUNKS.length) tail = bytes.subarray(-END_OF_CHUNKS.length);
    else tail = Buffer.concat([tail ?? bytes.subarray(0, 0), bytes]).subarray(-END_OF_CHUNKS.length);
    if (tail.equals(END_OF_CHUNKS)) return true;
    tail = Buffer.from(tail);
    return false;
  }

  return {
    read(bytes) {
      const rest = body ? bytes : readHead(bytes);
      if (!rest || !body || !hasEnded(body, rest)) return undefined;
      const { status } = body;
      body = undefined;
      tail = undefined;
      return status;
    },
  };
}

const CONTENT_LENGTH = /\r\ncontent-length: (\d+)/i;

/** Undefined for a chunked response. */
function contentLength(head: string): number | undefined {
  const found = CONTENT_LENGTH.exec(head)?.[1];
  return found === undefined ? undefined : Number(found);
}
