import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { storePath } from '../../src/config/config.ts';
import { beside, startService } from '../../testkit/service/service.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';

/** Starts a service that fails to start, and asserts that it exported its traces. Returns the ports it was to have. */
async function failToStart(t: TestContext, dataDir: string, ports: Record<string, number>, why: object) {
  const shutdown = t.mock.method(TracerProvider.prototype, 'shutdown');
  const env = {
    DATABASE_URL: undefined,
    DATA_DIR: dataDir,
    BOOTSTRAP_TOKEN: undefined,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  };
  const texts = Object.entries(ports).map(([name, port]) => [name, String(port)]);
  await assert.rejects(startService({ ...env, ...Object.fromEntries(texts) }), why);
  assert.equal(shutdown.mock.callCount(), 1);
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'plant-store-failed-'));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

function change(dataDir: string, sql: string): void {
  const db = new DatabaseSync(storePath(dataDir));
  db.exec(sql);
  db.close();
}

/** Listens on a port, and so proves that it is free. */
async function occupy(t: TestContext, port = 0) {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

test('a start that fails after the service listens leaves nothing open', async (t) => {
  const dataDir = await folder(t);
  // The first user is created once the ports are open, before the first token is shown.
  await beside(dataDir, async () => {});
  change(dataDir, `CREATE TRIGGER full BEFORE INSERT ON users BEGIN SELECT RAISE(ABORT, 'full'); END`);
  const ports = { PORT: await freePort(), METRICS_PORT: await freePort() };
  await failToStart(t, dataDir, ports, { code: 50000 });
  for (const port of Object.values(ports)) await occupy(t, port);
  // Neither is the store: it can be served again.
  change(dataDir, 'DROP TRIGGER full');
  const again = await startService({ DATA_DIR: dataDir });
  await again.stop();
});

test('a start whose port is in use opens and creates nothing', async (t) => {
  const dataDir = await folder(t);
  const ports = { PORT: String(await occupy(t)), METRICS_PORT: String(await freePort()) };
  await assert.rejects(startService({ DATA_DIR: dataDir, ...ports }), { code: 'EADDRINUSE' });
  assert.deepEqual(await readdir(dataDir), []);
  await occupy(t, Number(ports.METRICS_PORT));
});

test('a start whose metrics port is in use leaves nothing open', async (t) => {
  const ports = { PORT: await freePort(), METRICS_PORT: await occupy(t) };
  await failToStart(t, await folder(t), ports, { code: 'EADDRINUSE' });
  await occupy(t, ports.PORT);
});
