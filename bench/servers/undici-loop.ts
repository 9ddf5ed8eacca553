import { askFor } from '../load/client.ts';
import type { Server } from './server.ts';

/** What the loop of `reference/undici-loop.ts` sends. */
export type LoopOrder = {
  url: string;
  requests: number;
  /** Concurrent requests. */
  concurrency: number;
  headers: Record<string, string>;
  body: string;
  /** Whether each request has its own signature, as each delivery must; otherwise all have the first one's. */
  signed: boolean;
};

/** Resolves when everything is sent and answered. */
export async function runLoop(loop: Server, order: LoopOrder): Promise<void> {
  await askFor(loop.url, { method: 'POST', body: JSON.stringify(order) });
}

/** What an HTTP client writes by itself. */
const OWN_HEADERS = ['host', 'connection', 'content-length'];

/** Headers and body of a received request, to send it again. */
export function readRequest(text: string): Pick<LoopOrder, 'headers' | 'body'> {
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  const [, ...lines] = head.split('\r\n');
  const fields = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { headers: Object.fromEntries(fields.filter(([name]) => !OWN_HEADERS.includes(name))), body };
}
