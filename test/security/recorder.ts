import { exchange } from '../../testkit/sockets/raw-client.ts';
import type { RawAnswer } from '../../testkit/sockets/raw-framing.ts';

/** An answer as one text (status, header fields and body), with its request. */
export type Recorded = { to: string; code: number | undefined; text: string };

/** Sends requests to a service and records every answer. */
export type Recorder = {
  answers: Recorded[];
  /** `to` names the request in a failing test. */
  send(to: string, bytes: string): Promise<RawAnswer>;
  request(method: string, path: string, options?: RequestOptions): Promise<RawAnswer>;
};

export type RequestOptions = { authorization?: string; key?: string | undefined; body?: unknown };

export function createRecorder(answers: Recorded[], port: number): Recorder {
  async function send(to: string, bytes: string): Promise<RawAnswer> {
    const answer = await exchange(port, Buffer.from(bytes, 'latin1'));
    const { status, fields, text } = answer;
    const all = [String(status), ...fields.map((field) => field.join(': ')), text].join('\n');
    answers.push({ to, code: codeOf(text), text: all });
    return answer;
  }

  return {
    answers,
    send,
    request(method, path, { authorization, key, body } = {}) {
      const fields = ['Host: x'];
      if (authorization !== undefined) fields.push(`Authorization: ${authorization}`);
      if (key !== undefined) fields.push(`Idempotency-Key: ${key}`);
      const text = body === undefined ? '' : JSON.stringify(body);
      if (text !== '') fields.push('Content-Type: application/json', `Content-Length: ${text.length}`);
      const bytes = `${method} ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n${text}`;
      return send(`${method} ${path}`, bytes);
    },
  };
}

function codeOf(text: string): number | undefined {
  const [, code] = /^\{"error":(\d{5}),/.exec(text) ?? [];
  return code === undefined ? undefined : Number(code);
}
