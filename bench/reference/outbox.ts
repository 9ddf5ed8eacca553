import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { Pool } from 'undici';
import { newKeyPair, newSecret, sign } from '../../src/webhooks/sending/signature.ts';
import { serve } from './serve.ts';

/**
 * A bare outbox: each `POST /plants` writes a plant and its event in one durable transaction, which all writes of a
 * turn of the event loop share. Each event is signed and sent to RECEIVER, CONCURRENCY at a time, and its status is
 * recorded the same way. There is no token, no retry and no other feature. The store is created in DATA_DIR; `GET`
 * returns how many events have no status yet.
 */

const { DATA_DIR = '.', RECEIVER = '', CONCURRENCY } = process.env;
const db = new DatabaseSync(join(DATA_DIR, 'outbox.sqlite'));
db.exec('PRAGMA journal_mode = WAL');
db.exec('PRAGMA synchronous = FULL');
db.exec(
  `CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT;
   CREATE TABLE outbox (id INTEGER PRIMARY KEY, event TEXT NOT NULL, plant TEXT NOT NULL, status INTEGER, sent_at INTEGER) STRICT`,
);
const insertPlant = db.prepare('INSERT INTO plants (name, tag) VALUES (?, ?)');
const insertEvent = db.prepare('INSERT INTO outbox (event, plant) VALUES (?, ?)');
const nextEvents = db.prepare('SELECT id, event, plant FROM outbox WHERE id > ? ORDER BY id LIMIT 500');
const recordStatus = db.prepare('UPDATE outbox SET status = ?, sent_at = ? WHERE id = ?');

let writes: { write(): void; done(): void }[] = [];
let created = Promise.withResolvers<void>();
let waiting = 0;

serve(
  createServer(async (request, response) => {
    if (request.method === 'GET') return answer(response, 200, { waiting });
    const { name, tag } = JSON.parse(await text(request));
    await durably(() => {
      const { lastInsertRowid: id } = insertPlant.run(name, tag ?? null);
      insertEvent.run(`evt_${randomUUID()}`, JSON.stringify({ id, name, tag }));
    });
    waiting++;
    created.resolve();
    answer(response, 201, { name, tag });
  }),
);

const pool = new Pool(new URL(RECEIVER).origin, { connections: Number(CONCURRENCY) });
const keys = { secrets: [newSecret(randomBytes)], privateKey: newKeyPair(randomBytes).privateKey };
const events = unsentEvents();
await Promise.all(Array.from({ length: Number(CONCURRENCY) }, sendEvents));

/** Resolves when it is on disk. */
function durably(write: () => void): Promise<void> {
  if (writes.length === 0) setImmediate(commit);
  const { promise, resolve: done } = Promise.withResolvers<void>();
  writes.push({ write, done });
  return promise;
}

function commit(): void {
  const batch = writes;
  writes = [];
  db.exec('BEGIN');
  for (const { write } of batch) write();
  db.exec('COMMIT');
  for (const { done } of batch) done();
}

type OutboxEvent = { id: number; event: string; plant: string };

async function* unsentEvents(): AsyncGenerator<OutboxEvent> {
  for (let last = 0; ; ) {
    created = Promise.withResolvers();
    // The columns that `nextEvents` names.
    const found = nextEvents.all(last) as OutboxEvent[];
    yield* found;
    last = found.at(-1)?.id ?? last;
    if (found.length === 0) await created.promise;
  }
}

async function sendEvents(): Promise<void> {
  for await (const { id, event, plant: body } of events) {
    const timestamp = Math.floor(Date.now() / 1000);
    const { statusCode, body: content } = await pool.request({
      path: '/',
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': event,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': sign({ id: event, timestamp, body, keys }),
      },
      body,
    });
    await content.dump();
    await durably(() => recordStatus.run(statusCode, Date.now(), id));
    waiting--;
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  const content = JSON.stringify(body);
  const length = Buffer.byteLength(content);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length });
  response.end(content);
}
