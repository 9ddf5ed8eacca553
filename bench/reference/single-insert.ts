import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { serve } from './serve.ts';

/**
 * What you would write in an hour: each `POST /plants` is one durable INSERT with its own commit. No token, no event.
 * The store is created in DATA_DIR.
 */

const db = new DatabaseSync(join(process.env.DATA_DIR ?? '.', 'single-insert.sqlite'));
db.exec('PRAGMA journal_mode = WAL');
db.exec('PRAGMA synchronous = FULL');
db.exec('CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT');
const insert = db.prepare('INSERT INTO plants (name, tag) VALUES (?, ?)');

serve(createServer(answer));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST' || request.url !== '/plants') return send(response, 404, { error: 40400 });
  const body = await readBody(request);
  try {
    const { name, tag } = JSON.parse(body);
    insert.run(name, tag ?? null);
    send(response, 201, { name, tag });
  } catch {
    send(response, 400, { error: 40001 });
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  request.setEncoding('utf8');
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
