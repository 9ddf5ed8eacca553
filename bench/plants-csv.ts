import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { temporaryFolder } from './harness/cleanup.ts';
import { askFor } from './harness/client.ts';
import { table } from './harness/report.ts';
import { startService } from './harness/service.ts';

/**
 * `node bench/plants-csv.ts`: creates the plants of `examples/plants.csv` through the API, with a receiver
 * that verifies every event with the public `standardwebhooks` package. Exit code 1 when one is missing.
 */

const FILE = new URL('../examples/plants.csv', import.meta.url);
/** Creates under way at a time. */
const CLIENTS = 16;
/** How long after the last create the events may take. */
const DEADLINE_MS = 30_000;

type Row = { id: number; name: string; tag: string };

process.exitCode = await main();

async function main(): Promise<number> {
  const rows = readRows();
  const receiver = await startReceiver(rows.length);
  const env = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  const service = await startService({ dataDir: temporaryFolder().path, env, core: undefined });
  const subscription = await askFor(`${service.url}/webhooks`, {
    method: 'POST',
    body: JSON.stringify({ url: receiver.url }),
  });
  receiver.trust(JSON.parse(subscription.body).secret);

  const start = performance.now();
  await createAll(`${service.url}/plants`, rows);
  const created = performance.now();
  await receiver.finished(DEADLINE_MS);
  const received = performance.now();
  const listed: unknown[] = JSON.parse((await askFor(`${service.url}/plants?fields=id,name,tag`)).body);
  await service.stop();
  receiver.stop();

  const isRight = (row: Row) => receiver.bodies.get(row.id) === JSON.stringify(row);
  const counts = {
    'plants in the file': rows.length,
    'plants that the list gives back': rows.filter((row, i) => isSame(listed[i], row)).length,
    'events received, verified and as created': rows.filter(isRight).length,
  };
  const refused = { 'requests without a valid signature': receiver.refused() };
  const cells = Object.entries({ ...counts, ...refused }).map(([name, count]) => [name, String(count)]);
  process.stdout.write(
    `${table(['plants.csv', ''], cells)}\n\n- created in ${(created - start).toFixed(0)} ms, the last event ${(received - created).toFixed(0)} ms later\n`,
  );
  const isComplete = new Set(Object.values(counts)).size === 1 && listed.length === rows.length;
  return isComplete && receiver.refused() === 0 ? 0 : 1;
}

/** RFC 4180 without line breaks in values. */
function readRows(): Row[] {
  const [, ...lines] = readFileSync(FILE, 'utf8').trimEnd().split(/\r?\n/);
  return lines.map((line) => {
    const fields = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))/g);
    const [id = '', name = '', tag = ''] = fields.map(
      ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain,
    );
    return { id: Number(id), name, tag };
  });
}

async function createAll(url: string, rows: Row[]): Promise<void> {
  const left = rows.values();
  const client = async () => {
    for (const row of left) await askFor(url, { method: 'POST', body: JSON.stringify(row) });
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

function isSame(listed: unknown, row: Row): boolean {
  return JSON.stringify(listed) === JSON.stringify(row);
}

async function startReceiver(expected: number) {
  /** By the plant's id. */
  const bodies = new Map<number, string>();
  const complete = Promise.withResolvers<void>();
  let webhook: Webhook | undefined;
  let refused = 0;

  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (!isGenuine(request, body)) return refuse(response);
    bodies.set(JSON.parse(body).id, body);
    response.writeHead(204).end();
    if (bodies.size === expected) complete.resolve();
  });

  function isGenuine(request: IncomingMessage, body: string): boolean {
    try {
      // Node joins repeated fields, so that each of the three that are read is a string.
      webhook?.verify(body, request.headers as Record<string, string>);
      return webhook !== undefined;
    } catch {
      return false;
    }
  }

  function refuse(response: ServerResponse): void {
    refused++;
    response.writeHead(401).end();
  }

  return {
    url: await listen(server),
    bodies,
    refused: () => refused,
    trust(secret: string) {
      webhook = new Webhook(secret);
    },
    async finished(deadlineMs: number) {
      const timer = setTimeout(complete.resolve, deadlineMs);
      await complete.promise;
      clearTimeout(timer);
    },
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      // A server that listens on TCP has an address of this shape.
      resolve(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/`);
    });
  });
}
