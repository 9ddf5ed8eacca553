/** The wiring of the main thread's parts; `sender/thread.ts` has that of the sender thread's. */

import { lookup } from 'node:dns/promises';
import { existsSync, mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { createAuthenticate } from './access/authentication.ts';
import { createFirstToken, setBootstrapToken } from './access/bootstrap.ts';
import type { VerifyJwt } from './access/jwt.ts';
import { type Config, servingLock, storePath } from './config/config.ts';
import type { DatabaseUrl } from './config/database-url.ts';
import { version } from './config/package.ts';
import { urlOf } from './http/node-http.ts';
import { answerUnreadable } from './http/observe/socket-failures.ts';
import { createCursors } from './http/request/cursor.ts';
import { buildServer } from './http/server.ts';
import { answerWhileStarting } from './http/starting.ts';
import { database, http as limits, processes } from './limits.ts';
import type { Metrics } from './observability/metrics.ts';
import { type Runtime, timedBy } from './runtime.ts';
import { startSending } from './sender/supervisor.ts';
import { requireWritable } from './store/sqlite/engine/connection.ts';
import { fileSize } from './store/sqlite/files/durable-files.ts';
import { recoverStore } from './store/sqlite/files/durable-log.ts';
import { lockForServing } from './store/sqlite/files/lock.ts';
import { openSqliteStore, type SqliteOptions } from './store/sqlite/store.ts';
import type { Store } from './store/store.ts';
import type { TracingOptions } from './tracing/open.ts';
import { startHousekeeper } from './webhooks/housekeeper.ts';
import { formatNetworks } from './webhooks/sending/addresses.ts';
import { createResolve, nowhere } from './webhooks/sending/resolver.ts';
import { createTarget } from './webhooks/sending/target.ts';

export type App = {
  /** The public URL or, without one, the address it listens on. */
  url: string;
  /** The token that the first start created. It is stored nowhere. */
  firstToken: string | undefined;
  /** The URL of the metrics; undefined when they are off. */
  metricsUrl: string | undefined;
  /** Drains: refuses new work, finishes what is in progress, flushes, closes. May be called twice. */
  stop(): Promise<void>;
};

type AppOptions = {
  log?: FastifyBaseLogger | undefined;
  /**
   * Called when the store has failed for good, such as in a commit with an unknown outcome, and the requests in
   * progress have their answers. The process must end; recovery decides at the next start.
   */
  onFatal(error: Error): void;
};

/** Opens the store, listens, and starts to deliver. The only place where the parts are wired together. */
export async function startApp(config: Config, runtime: Runtime, options: AppOptions): Promise<App> {
  const metrics = await openMetrics(config, runtime);
  const { promise: failed, resolve: onFatal } = Promise.withResolvers<Error>();
  const draining = new AbortController();
  const started: Parts['started'] = [];
  try {
    // Nobody knows a port that the system has yet to pick.
    const freePort = config.port === 0 ? async () => {} : await answerWhileStarting(config);
    started.push(freePort);
    const store = await openStore(config, runtime, { onFatal, measures: metrics?.measures });
    started.push(store.close);
    const timed = timedBy(store.clock, runtime);
    return await serve({
      config,
      runtime: timed,
      options,
      store,
      draining,
      started,
      failed,
      metrics,
      freePort,
    });
  } catch (error) {
    draining.abort();
    for (const stop of started.reverse()) await stop();
    throw error;
  }
}

type OpenedStore = Store & {
  /** Whether the previous process may have been killed by what it was sending. */
  wasKilled?: boolean;
};

type StoreOptions = Omit<SqliteOptions, 'path' | 'writer'> & Pick<Runtime, 'log'>;

async function openStore(
  config: Config,
  runtime: Runtime,
  parts: Pick<StoreOptions, 'onFatal' | 'measures'>,
): Promise<OpenedStore> {
  const { databaseUrl, maxPlantsPerUser } = config;
  const { clock, log } = runtime;
  const options = { ...parts, clock, log, deliveryDelayMs: deliveryDelay(config), maxPlantsPerUser };
  return databaseUrl
    ? openDatabaseStore(databaseUrl, config, options)
    : openEmbeddedStore(config, runtime, options);
}

/** Loaded on demand: the embedded store needs no PostgreSQL client. */
async function openDatabaseStore(url: DatabaseUrl, config: Config, options: StoreOptions): Promise<Store> {
  const { openPostgresStore } = await import('./store/postgres/store.ts');
  const sendingConnections = config.roles.has('dispatch')
    ? Math.ceil(config.databaseConnections * database.sendingShare)
    : 0;
  return openPostgresStore({
    ...options,
    url,
    connections: config.databaseConnections - sendingConnections,
    sendingConnections,
    pooled: config.databasePooler === 'transaction',
  });
}

/** The data folder belongs to this process until the store is closed. */
async function openEmbeddedStore(
  { dataDir }: Config,
  { log, ids }: Runtime,
  options: StoreOptions,
): Promise<OpenedStore> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = storePath(dataDir);
  const lock = servingLock(dataDir);
  const wasServed = existsSync(lock);
  using opening = new DisposableStack();
  opening.use(lockForServing(lock));
  requireWritable(path);
  const wasKilled = recoverStore(path);
  const isNew = fileSize(path) === 0;
  const store = await openSqliteStore({ ...options, path, writer: 'thread' });
  if (isNew && wasServed)
    log.warn({ path }, 'created a new, empty store in a data folder that a server has used before');
  else if (isNew) log.info({ path }, 'created a new, empty store');
  const latest = store.latestEvent();
  if (latest !== undefined) ids.startAfter(latest);
  const held = opening.move();
  return { ...store, close: () => store.close().finally(() => held.dispose()), wasKilled };
}

function deliveryDelay({ webhookRetrySchedule }: Config): number {
  return webhookRetrySchedule[0] ?? 0;
}

type Parts = {
  config: Config;
  runtime: Runtime;
  options: AppOptions;
  store: OpenedStore;
  /** Resolves when the store has failed for good. */
  failed: Promise<Error>;
  metrics: Metrics | undefined;
  draining: AbortController;
  /** Each stops a part that has started, the oldest first. Used when the start fails. */
  started: (() => Promise<void>)[];
  /** Ends what `answerWhileStarting` began. */
  freePort(): Promise<void>;
};

async function serve(parts: Parts): Promise<App> {
  const { config, runtime, options, store, failed, metrics, draining, started, freePort } = parts;
  const { webhooks, deliveries, events } = store;
  const { rateLimit, authFailureLimit, trustProxy, corsOrigins, publicUrl, retentionDays } = config;
  const access = { store: store.access, runtime };
  const { bootstrapToken } = config;
  if (bootstrapToken !== undefined) await setBootstrapToken(access, bootstrapToken);
  const resolve = createResolve({ look: nowhere });
  const target = createTarget({ allowed: config.webhookAllowedNetworks, resolve });
  const traces = tracingOptions(config, runtime);
  // Loaded on demand, because it takes 10 MiB of memory.
  const tracing = traces && (await import('./tracing/open.ts')).openTracing(traces, runtime);
  if (tracing) started.push(tracing.stop);
  const server = await buildServer({
    access,
    plants: store.plants,
    keys: store.keys,
    webhooks: { webhooks, deliveries, events, runtime, target, deliveryDelayMs: deliveryDelay(config) },
    runtime,
    cursors: createCursors(store.cursorKeys),
    authenticate: createAuthenticate({
      ...access,
      bootstrapToken,
      jwts: await verifyJwt(config, runtime, draining.signal),
    }),
    answersApi: config.roles.has('api'),
    rateLimit,
    authFailureLimit,
    trustProxy,
    corsOrigins,
    publicUrl,
    log: options.log,
    measures: metrics?.measures,
    tracer: tracing?.tracer,
    drain: draining.signal,
    checkStore: store.check,
    writesAreFull: store.isFull,
    refresh: store.refresh,
  });
  started.push(() => closeServer(server));
  await server.ready();
  await freePort();
  // By address: for the name `localhost` Fastify opens a second server, which lacks all that this one has.
  const { address } = await lookup(config.host);
  await server.listen({ port: config.port, host: address });
  const url = publicUrl ?? urlOf(server.server, config.host);
  let delivery: ReturnType<typeof startSending> | undefined;
  const connections = promisify(server.server.getConnections.bind(server.server));
  const sources = { store: store.readings, connections, sending: () => delivery?.reading() };
  const exported = await metrics?.listen(sources);
  if (exported) started.push(exported.stop);
  // Only once it listens: the first token is shown once, and a start that fails shows nothing.
  const firstToken = bootstrapToken === undefined ? await createFirstToken(access) : undefined;
  if (config.roles.has('dispatch')) delivery = startDelivery(parts, url, traces);
  const housekeeper = delivery && startHousekeeper({ store: store.chores, runtime, retentionDays });

  async function drain(): Promise<void> {
    draining.abort();
    // Meanwhile the sender thread exports its own traces.
    const closed = closeServer(server).then(() => tracing?.stop());
    await Promise.all([closed, delivery?.stop(), housekeeper?.stop()]);
    await exported?.stop();
    await store.close();
  }

  void failed.then(async (error) => {
    draining.abort();
    // In steps, each of which reads what has arrived: after a stall of the machine one timer would end it at once.
    for (let step = 0; step < 5; step++) await pause(processes.lastRequestsMs / 5);
    await Promise.race([closeServer(server), pause(processes.lastAnswersMs)]);
    options.onFatal(error);
  });

  let stopping: Promise<void> | undefined;
  return { url, firstToken, metricsUrl: exported?.url, stop: () => (stopping ??= drain()) };
}

function startDelivery(
  { config, runtime, store, metrics }: Parts,
  publicUrl: string,
  traces: TracingOptions | undefined,
) {
  const measures = metrics?.measures;
  const settings = {
    schedule: config.webhookRetrySchedule,
    disableAfterMs: config.webhookDisableAfter,
    concurrency: config.webhookConcurrency,
    networks: formatNetworks(config.webhookAllowedNetworks),
    version,
    publicUrl,
    logsDebug: config.logLevel === 'debug',
    isMeasured: measures !== undefined,
    traces,
  };
  const { lanes, wasKilled = false } = store;
  return startSending({ settings, lanes, wasKilled, log: runtime.log, measures });
}

/** Loaded on demand, because it takes 10 MiB of memory. */
async function verifyJwt(
  { jwtIssuer: issuer, jwtAudience: audience, jwtJwksUrl: jwksUrl, ...claims }: Config,
  runtime: Runtime,
  stopped: AbortSignal,
): Promise<VerifyJwt | undefined> {
  if (issuer === undefined || audience === undefined) return undefined;
  const { createVerifyJwt } = await import('./access/jwt.ts');
  const { jwtUserClaim: userClaim, jwtScopeClaim: scopeClaim } = claims;
  return createVerifyJwt({ issuer, audience, jwksUrl, userClaim, scopeClaim }, runtime, stopped);
}

async function openMetrics(config: Config, { clock, log }: Runtime): Promise<Metrics | undefined> {
  const { metricsPort: port, metricsHost: host } = config;
  if (port === undefined) return undefined;
  const { createMetrics } = await import('./observability/metrics.ts');
  return createMetrics({ clock, log, version }, { port, host, answerUnreadable });
}

/** Called once: all threads are one instance of the service. */
function tracingOptions(config: Config, { random }: Runtime): TracingOptions | undefined {
  const { otelExporterOtlpEndpoint: endpoint, otelExporterOtlpHeaders: headers } = config;
  if (endpoint === undefined) return undefined;
  const { otelServiceName: name, otelResourceAttributes } = config;
  const attributes = { 'service.instance.id': random(16).toString('hex'), ...otelResourceAttributes };
  const { otelTracesSampler: sampler, otelTracesSamplerArg: ratio } = config;
  return { endpoint, headers, sampler, ratio, service: { name, version, attributes } };
}

async function closeServer(server: FastifyInstance): Promise<void> {
  using _idle = setInterval(() => server.server.closeIdleConnections(), limits.idleCheckMs);
  using _late = setTimeout(() => server.server.closeAllConnections(), limits.drainMs);
  await server.close();
}
