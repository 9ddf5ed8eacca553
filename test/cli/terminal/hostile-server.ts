import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';

/** Everything that a terminal obeys or that hides in text, a line break to forge a line, and an end of a quotation. */
export const HOSTILE = [
  'x\u001b[35mcolour\u001b]0;title\u0007\u001bc\u0000\b\t\u007f\u0080\u0085\u009b35m\u009d',
  '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029',
  '\rforged\nforged\r\nforged "quoted", \\ and \ud83c\udf31',
].join('');

/** The part of it that HTTP allows in a header: C1 controls, as single bytes. */
const HOSTILE_HEADER = 'http://x/\u009b35m\u0085\u009d';

const plant = { id: 7, name: HOSTILE, tag: HOSTILE, owner: HOSTILE };

const attempt = { at: HOSTILE, durationMs: 3, address: HOSTILE };

const delivery = {
  webhook: HOSTILE,
  event: HOSTILE,
  type: HOSTILE,
  state: HOSTILE,
  createdAt: HOSTILE,
  attempts: 2,
  reason: HOSTILE,
  plant,
  history: [
    { ...attempt, status: 500, excerpt: `\u001b[35m${HOSTILE}` },
    { ...attempt, error: HOSTILE },
  ],
};

/** All fields of a webhook and a delivery. */
const webhook = {
  ...delivery,
  id: HOSTILE,
  url: HOSTILE,
  description: HOSTILE,
  publicKey: HOSTILE,
  secret: HOSTILE,
  overlapUntil: HOSTILE,
  status: 'disabled',
  disabledReason: HOSTILE,
  pausedUntil: HOSTILE,
  waiting: 1,
  failed: 1,
  lastSuccessAt: HOSTILE,
  lastFailureAt: HOSTILE,
  count: 3,
};

const token = {
  id: HOSTILE,
  label: HOSTILE,
  scopes: [HOSTILE],
  createdAt: HOSTILE,
  expiresAt: HOSTILE,
  lastUsedOn: HOSTILE,
  token: HOSTILE,
  overlapUntil: HOSTILE,
};

/** An event spread over lines, as JSON allows. JSON escapes C0 controls only; the others stay as they are. */
const event = inStream(
  JSON.stringify(
    { id: HOSTILE, type: 'plant.created', createdAt: '2026-11-21T09:00:00.000Z', plant },
    null,
    '\t',
  ),
);

/** What a stream sends instead, by hostility. */
const streams: Readonly<Record<string, string>> = {
  notes: inStream(HOSTILE.replaceAll('\r', '')),
  ids: `id: \u001b[35m\u009b35m\u202e\n${event}`,
};

function inStream(data: string): string {
  const lines = data.split('\n').map((line) => `data: ${line}\n`);
  return `${lines.join('')}\n`;
}

/** The first part of the URL says how the server is hostile. */
export const HOSTILITIES = ['fields', 'error', 'redirect', 'garbage'] as const;
/** Answers every request of the command line with hostile data in every field. Returns its URL. */
export async function startHostileServer(t: TestContext): Promise<string> {
  const listeners = new Set<string>();
  const server = createServer((request, response) => answer(request, response, listeners));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('It does not listen.');
  return `http://127.0.0.1:${address.port}`;
}

function answer(request: IncomingMessage, response: ServerResponse, listeners: Set<string>): void {
  request.resume();
  const [, hostility, path = ''] = /^\/(\w+)([^?]*)/.exec(request.url ?? '') ?? [];
  response.setHeader('x-hostile', HOSTILE_HEADER);
  if (hostility === 'garbage') response.end(HOSTILE);
  else if (hostility === 'redirect') response.writeHead(307, { location: HOSTILE_HEADER }).end();
  else if (hostility === 'error') refuse(response, 400);
  else if (hostility === 'busy') refuse(response, 503);
  else if (path === '/events/stream') stream(request, response, streams[hostility ?? ''] ?? event, listeners);
  else if (request.method === 'DELETE') response.writeHead(204).end();
  else {
    const isCreate = request.method === 'POST' && path === '/plants';
    if (isCreate) response.writeHead(201, { location: '/plants/7' });
    const made = path.startsWith('/tokens') ? token : webhook;
    response.end(JSON.stringify(request.method === 'GET' ? bodyOf(path) : made));
  }
}

function bodyOf(path: string): unknown {
  if (path === '/me') return { user: HOSTILE, scopes: [HOSTILE], expiresAt: HOSTILE };
  if (path === '/plants') return [plant];
  if (path === '/events') return { events: [{ ...delivery, id: HOSTILE }], cursor: HOSTILE };
  if (path === '/webhooks') return [webhook];
  if (path === '/tokens') return [token];
  if (path.endsWith('/deliveries')) return [delivery, { ...delivery, nextAttemptAt: HOSTILE }];
  return webhook;
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status).end(JSON.stringify({ error: status * 100, message: HOSTILE }));
}

/** Sends an event to each new token, and refuses it the next time. */
function stream(
  { headers }: IncomingMessage,
  response: ServerResponse,
  message: string,
  listeners: Set<string>,
): void {
  const { authorization = '' } = headers;
  if (listeners.has(authorization)) refuse(response, 400);
  else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(message);
  listeners.add(authorization);
}
