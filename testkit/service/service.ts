import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scopes as allScopes, type Scope } from '../../src/access/scopes.ts';
import { createToken } from '../../src/access/tokens.ts';
import { startApp } from '../../src/app.ts';
import { type Environment, readConfig } from '../../src/config/config.ts';
import type { DatabaseUrl } from '../../src/config/database-url.ts';
import { silentLog, systemRuntime } from '../../src/runtime.ts';
import { openBeside, type Parts } from '../stores/beside.ts';
import type { Answer } from './answer.ts';

/**
 * The whole service in this process, on its own port and store: embedded, in the database that DATABASE_URL names, or,
 * if the test run has TEST_STORE=postgres, in a database of its own.
 */
export type Service = {
  /** Without a trailing slash. */
  url: string;
  port: number;
  /** Has no store in it if that is in a database. */
  dataDir: string;
  /** A token for the user `admin` with every scope. */
  token: string;
  /** Where metrics are, with METRICS_PORT. */
  metricsUrl: string | undefined;
  /** Sends a complete request; `path` may contain a query. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** A token for this user, who is created if necessary. */
  tokenFor(user: string, options?: TokenOptions): Promise<string>;
  /** Works on the service's store while it runs, like the command line. */
  beside<T>(use: (parts: Parts) => Promise<T>): Promise<T>;
  /** May be called twice. */
  stop(): Promise<void>;
};

export type RequestOptions = {
  /** Admin's by default; null sends none. */
  token?: string | null;
  headers?: Record<string, string>;
  /** Sends text and bytes unchanged, as `application/json`; anything else as JSON. */
  body?: unknown;
};

export type TokenOptions = { scopes?: readonly Scope[]; expiresInMs?: number };

const TOKEN = 'a-bootstrap-token-that-only-tests-know';

export async function startService(env: Environment = {}): Promise<Service> {
  const dataDir = await mkdtemp(join(tmpdir(), 'plant-store-'));
  const database = await databaseFor(env);
  const config = readConfig({
    PORT: '0',
    DATA_DIR: dataDir,
    DATABASE_URL: database?.url,
    BOOTSTRAP_TOKEN: TOKEN,
    ...env,
  });
  const workBeside: Service['beside'] = (use) =>
    using(config.databaseUrl ? openDatabase(config.databaseUrl) : openBeside(config.dataDir), use);
  const runtime = systemRuntime(silentLog);
  const failures: unknown[] = [];
  const app = await startApp(config, runtime, { onFatal: (error) => failures.push(error) }).catch(
    async (error) => {
      await leave();
      throw error;
    },
  );

  let stopping: Promise<void> | undefined;

  async function leave(): Promise<void> {
    await rm(dataDir, { recursive: true, force: true });
    await database?.drop();
  }

  async function stop(): Promise<void> {
    await app.stop();
    await leave();
    if (failures.length > 0) throw new AggregateError(failures, 'The service failed while it ran.');
  }

  return {
    url: app.url,
    port: Number(new URL(app.url).port),
    dataDir,
    token: TOKEN,
    metricsUrl: app.metricsUrl,
    request: (method, path, options = {}) => send(app.url + path, method, { token: TOKEN, ...options }),
    tokenFor: (user, options = {}) => workBeside((parts) => tokenFor(parts, user, options)),
    beside: workBeside,
    stop: () => (stopping ??= stop()),
  };
}

/** Undefined when the settings name one, or none is needed. */
async function databaseFor({ DATABASE_URL }: Environment) {
  const isNeeded = DATABASE_URL === undefined && process.env.TEST_STORE === 'postgres';
  return isNeeded ? (await import('../stores/postgres.ts')).makeDatabase() : undefined;
}

async function send(url: string, method: string, options: RequestOptions): Promise<Answer> {
  const headers: Record<string, string> = { ...options.headers };
  if (typeof options.token === 'string') headers.authorization ??= `Bearer ${options.token}`;
  const init: RequestInit = { method, headers, redirect: 'manual' };
  if (options.body !== undefined) {
    headers['content-type'] ??= 'application/json';
    init.body = payload(options.body);
  }
  const response = await fetch(url, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function payload(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body;
  if (Buffer.isBuffer(body)) return new Uint8Array(body);
  return JSON.stringify(body);
}

/** Opens the store in a folder like the command line, even if a service runs on it. */
export function beside<T>(dataDir: string, use: (parts: Parts) => Promise<T>): Promise<T> {
  return using(openBeside(dataDir), use);
}

async function using<T>(opening: Promise<Parts>, use: (parts: Parts) => Promise<T>): Promise<T> {
  const parts = await opening;
  try {
    return await use(parts);
  } finally {
    await parts.store.close();
  }
}

/** Loaded on demand, as in the service. */
async function openDatabase(url: DatabaseUrl): Promise<Parts> {
  const { openPostgresStore } = await import('../../src/store/postgres/store.ts');
  const runtime = systemRuntime(silentLog);
  const store = await openPostgresStore({
    url,
    connections: 2,
    pooled: false,
    clock: runtime.clock,
    log: runtime.log,
    deliveryDelayMs: 0,
  });
  return { store, runtime };
}

async function tokenFor({ store, runtime }: Parts, user: string, options: TokenOptions): Promise<string> {
  const access = { store: store.access, runtime };
  await store.access.createUser({ name: user, at: runtime.clock.now() });
  const made = await createToken(access, { user, label: '', scopes: allScopes, ...options });
  if (made === undefined) throw new Error(`There is no user ${user}.`);
  return made.token;
}
