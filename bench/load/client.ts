import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as send } from 'node:http';
import { text } from 'node:stream/consumers';
import { TOKEN } from '../servers/service.ts';

export type Answer = { status: number; headers: IncomingHttpHeaders; body: string };

/** `body` is JSON text; `token` is the benchmark's by default; `signal` cancels the request. */
export type RequestOptions = {
  method?: string;
  body?: string;
  token?: string;
  headers?: Readonly<Record<string, string>>;
  agent?: Agent;
  signal?: AbortSignal;
};

/** Connections kept open between requests; more are opened for more concurrent requests. */
export const keepAlive = new Agent({ keepAlive: true });

/** One request. Rejects when the connection breaks before the end of the response. */
export async function ask(url: string, options: RequestOptions = {}): Promise<Answer> {
  const answer = await open(url, options);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
}

/** The same for a 2xx response; throws on any other. */
export async function askFor(url: string, options: RequestOptions = {}): Promise<Answer> {
  const answer = await ask(url, options);
  if (answer.status < 200 || answer.status > 299) {
    throw new Error(`${options.method ?? 'GET'} ${url}: ${answer.status} ${answer.body}`);
  }
  return answer;
}

/** Resolves with the response once its head has arrived; the caller reads its body. */
export function open(url: string, options: RequestOptions = {}): Promise<IncomingMessage> {
  const { method = 'GET', body, token = TOKEN, agent = keepAlive, signal } = options;
  const headers = {
    authorization: `Bearer ${token}`,
    ...options.headers,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  return new Promise((resolve, reject) => {
    const request = send(url, { method, headers, agent, ...(signal ? { signal } : {}) }, resolve);
    request.once('error', reject);
    request.end(body);
  });
}
