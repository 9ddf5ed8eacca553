import { readFileSync } from 'node:fs';
import { askFor } from './load/client.ts';
import { createAll } from './load/creates.ts';
import { table } from './measure/report.ts';
import { temporaryFolder } from './servers/cleanup.ts';
import { createVerifier, startReceiver } from './servers/receiver.ts';
import { startService } from './servers/service.ts';
import { createWebhook, loopbackAllowed } from './servers/webhooks.ts';

/**
 * `node bench/plants-csv.ts`: creates the plants of `examples/plants.csv` through the API, with a receiver
 * that verifies every event with the public `standardwebhooks` package. Exit code 1 when one is missing.
 */

const FILE = new URL('../examples/plants.csv', import.meta.url);
/** How long after the last create the events may take. */
const DEADLINE_MS = 30_000;

type Row = { id: number; name: string; tag: string };

process.exitCode = await main();

async function main(): Promise<number> {
  const rows = readRows();
  const receiver = await startRecorder(rows.length);
  const service = await startService({
    dataDir: temporaryFolder().path,
    env: loopbackAllowed,
    core: undefined,
  });
  receiver.trust((await createWebhook(service, receiver.url)).secret);

  const start = performance.now();
  await createAll(
    service,
    rows.map((row) => JSON.stringify(row)),
  );
  const created = performance.now();
  await receiver.finished(DEADLINE_MS);
  const received = performance.now();
  const listed: unknown[] = JSON.parse((await askFor(`${service.url}/plants?fields=id,name,tag`)).body);
  await service.stop();
  await receiver.stop();

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

function isSame(listed: unknown, row: Row): boolean {
  return JSON.stringify(listed) === JSON.stringify(row);
}

/** A receiver that accepts only requests signed with the secret of `trust`. */
async function startRecorder(expected: number) {
  /** By the plant's id. */
  const bodies = new Map<number, string>();
  const complete = Promise.withResolvers<void>();
  let isGenuine: ReturnType<typeof createVerifier> = () => false;
  let refused = 0;

  const receiver = await startReceiver((received) => {
    const { body, response } = received;
    const isTaken = isGenuine(received);
    if (isTaken) bodies.set(JSON.parse(body).id, body);
    else refused++;
    response.writeHead(isTaken ? 204 : 401).end();
    if (bodies.size === expected) complete.resolve();
  });

  return {
    url: receiver.url,
    bodies,
    refused: () => refused,
    trust(secret: string) {
      isGenuine = createVerifier(secret);
    },
    async finished(deadlineMs: number) {
      const timer = setTimeout(complete.resolve, deadlineMs);
      await complete.promise;
      clearTimeout(timer);
    },
    stop: receiver.down,
  };
}
