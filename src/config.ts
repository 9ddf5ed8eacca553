import { join } from 'node:path';
import { type Pairs, parseAttributes, parseEndpoint, parseHeaders, parseRatio } from './config-traces.ts';
import {
  bootstrapTokenForm,
  choice,
  parseBootstrapToken,
  parseCount,
  parseFolder,
  parseHost,
  parseJwtUrl,
  parsePort,
  parsePublicUrl,
  parseRate,
  parseText,
  type Rate,
  rateForm,
  readBootstrapToken,
} from './config-values.ts';
import { type DatabaseUrl, parseDatabaseUrl } from './database-url.ts';
import { access, database, delivery } from './limits.ts';
import { type SamplerName, samplers } from './tracer.ts';
import { type AllowedNetworks, parseNetworks } from './webhooks/addresses.ts';
import { DEFAULT_SCHEDULE, parseDelay, parseSchedule, type Schedule } from './webhooks/schedule.ts';

/** One long file, because it is one table: every setting, in the order of the page that is made from it. */

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export const logFormats = ['json', 'pretty'] as const;
export const roles = ['api', 'dispatch'] as const;
export type Role = (typeof roles)[number];
export const poolers = ['none', 'transaction'] as const;

/** What an operator decides. Frozen, and passed in; nothing below `cli/` reads the environment. */
export type Config = Readonly<{
  /** 0: the system picks a free one. */
  port: number;
  host: string;
  /** Absolute. */
  dataDir: string;
  /** Undefined for the embedded store. */
  databaseUrl: DatabaseUrl | undefined;
  /** Connections to the database that are open at a time, at most. */
  databaseConnections: number;
  databasePooler: (typeof poolers)[number];
  roles: ReadonlySet<Role>;
  /** Without a slash at its end. */
  publicUrl: string | undefined;
  logLevel: (typeof logLevels)[number];
  /** Undefined: whatever suits the place where the log goes. */
  logFormat: (typeof logFormats)[number] | undefined;
  /** Undefined: no metrics. 0: the system picks a free one. */
  metricsPort: number | undefined;
  metricsHost: string;
  webhookAllowedNetworks: AllowedNetworks;
  webhookRetrySchedule: Schedule;
  /** Requests under way to one webhook. */
  webhookConcurrency: number;
  /** A webhook whose every attempt failed for so long is disabled; milliseconds. */
  webhookDisableAfter: number;
  /** How long events, deliveries and attempts are kept. */
  retentionDays: number;
  bootstrapToken: string | undefined;
  /** With it and the audience, JWTs of this identity provider are taken as tokens. As its tokens spell it. */
  jwtIssuer: string | undefined;
  jwtAudience: string | undefined;
  /** Undefined: the issuer's discovery document names it. */
  jwtJwksUrl: string | undefined;
  jwtUserClaim: string;
  /** Requests for each token; undefined for any number. */
  rateLimit: Rate | undefined;
  /** Failed authentications of one address in a minute; 0 for any number. */
  authFailureLimit: number;
  /** Proxies whose X-Forwarded-For is believed. */
  trustProxy: AllowedNetworks;
  /** Undefined for any number. */
  maxPlantsPerUser: number | undefined;
  /** Where traces are sent, without a slash at its end; undefined when there are none. */
  otelExporterOtlpEndpoint: string | undefined;
  otelExporterOtlpHeaders: Pairs;
  otelServiceName: string;
  otelResourceAttributes: Pairs;
  otelTracesSampler: SamplerName;
  /** Of the traces, for a sampler that keeps a share of them. */
  otelTracesSamplerArg: number;
}>;

/** The file's value is what stands in the file; it ends up as `bootstrapToken`. */
type Values = Config & { readonly bootstrapTokenFile: string | undefined };

export type Setting<T> = {
  /** The environment variable. */
  env: string;
  /** With a placeholder for its value, as the help shows it. A setting without one is a secret. */
  flag: string | undefined;
  /** One sentence about what it does, and what it may be. */
  description: string;
  default: T;
  /** As the help and the reference show the default; undefined when there is none. */
  defaultText: string | undefined;
  /** Throws an `Error` whose message is a sentence with the rule. */
  parse(text: string): T;
};

export type SettingName = keyof Values;

/** Every setting. `--help` and `docs/reference/configuration.md` are made from this table. */
export const settings: { readonly [K in SettingName]: Setting<Values[K]> } = {
  port: {
    env: 'PORT',
    flag: '--port <number>',
    description: 'The TCP port to listen on; 0 picks a free one and prints it.',
    default: 3000,
    defaultText: '3000',
    parse: parsePort,
  },
  host: {
    env: 'HOST',
    flag: '--host <address>',
    description: 'The address to listen on; 0.0.0.0 or :: for every one of the machine.',
    default: '127.0.0.1',
    defaultText: '127.0.0.1',
    parse: parseHost,
  },
  dataDir: {
    env: 'DATA_DIR',
    flag: '--data-dir <folder>',
    description:
      'The folder that holds the store, unless DATABASE_URL names a database; serve makes it when it is missing.',
    default: parseFolder('data'),
    defaultText: './data',
    parse: parseFolder,
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    flag: undefined,
    description:
      'A PostgreSQL database to keep the store in, instead of the data folder: postgres://user:password@host:5432/name. ' +
      'Of several hosts, behind commas, the one that accepts writes is used.',
    default: undefined,
    defaultText: undefined,
    parse: parseDatabaseUrl,
  },
  databaseConnections: {
    env: 'DATABASE_CONNECTIONS',
    flag: '--database-connections <number>',
    description: `How many connections to the database may be open at a time, from 2 to ${database.mostConnections}; one more listens.`,
    default: 10,
    defaultText: '10',
    parse: parseCount('number of connections', database.mostConnections, 2),
  },
  databasePooler: {
    env: 'DATABASE_POOLER',
    flag: '--database-pooler <kind>',
    description:
      'What stands before the database: none, or a pooler that gives each transaction another session (PgBouncer: transaction).',
    default: 'none',
    defaultText: 'none',
    parse: choice('pooler', poolers),
  },
  roles: {
    env: 'ROLES',
    flag: '--roles <roles>',
    description:
      'What this replica does: api (answers requests), dispatch (sends webhooks, cleans up), or both.',
    default: new Set(roles),
    defaultText: roles.join(),
    parse: parseRoles,
  },
  publicUrl: {
    env: 'PUBLIC_URL',
    flag: '--public-url <url>',
    description: 'Where clients reach the service, when a proxy stands before it.',
    default: undefined,
    defaultText: undefined,
    parse: parsePublicUrl,
  },
  logLevel: {
    env: 'LOG_LEVEL',
    flag: '--log-level <level>',
    description: `The least important messages to log: ${logLevels.join(', ')}.`,
    default: 'info',
    defaultText: 'info',
    parse: choice('log level', logLevels),
  },
  logFormat: {
    env: 'LOG_FORMAT',
    flag: '--log-format <format>',
    description: 'How the log on standard output looks: json (for programs) or pretty (for people).',
    default: undefined,
    defaultText: 'pretty on a terminal, else json',
    parse: choice('log format', logFormats),
  },
  metricsPort: {
    env: 'METRICS_PORT',
    flag: '--metrics-port <number>',
    description:
      'The TCP port that serves /metrics for Prometheus, and nothing else; 0 picks a free one, which the log tells. ' +
      'Without it nothing is measured.',
    default: undefined,
    defaultText: undefined,
    parse: parsePort,
  },
  metricsHost: {
    env: 'METRICS_HOST',
    flag: '--metrics-host <address>',
    description:
      'The address that METRICS_PORT listens on; 0.0.0.0 in a container. Metrics need no token: keep them inside.',
    default: '127.0.0.1',
    defaultText: '127.0.0.1',
    parse: parseHost,
  },
  webhookAllowedNetworks: {
    env: 'WEBHOOK_ALLOWED_NETWORKS',
    flag: '--webhook-allowed-networks <cidrs>',
    description: 'Networks that webhooks may point to beside the public internet, over plain http too.',
    default: [],
    defaultText: undefined,
    parse: parseNetworks,
  },
  webhookRetrySchedule: {
    env: 'WEBHOOK_RETRY_SCHEDULE',
    flag: '--webhook-retry-schedule <delays>',
    description: 'When a delivery is attempted: each delay counts from the attempt before it.',
    default: parseSchedule(DEFAULT_SCHEDULE),
    defaultText: DEFAULT_SCHEDULE,
    parse: parseSchedule,
  },
  webhookConcurrency: {
    env: 'WEBHOOK_CONCURRENCY',
    flag: '--webhook-concurrency <number>',
    description: `How many requests may be under way to one webhook, from 1 to ${delivery.perWebhook}.`,
    default: 16,
    defaultText: '16',
    parse: parseCount('concurrency', delivery.perWebhook),
  },
  webhookDisableAfter: {
    env: 'WEBHOOK_DISABLE_AFTER',
    flag: '--webhook-disable-after <duration>',
    description: 'A webhook whose every attempt failed for so long is disabled, and what waits for it held.',
    default: parseDelay('5d'),
    defaultText: '5d',
    parse: parseDelay,
  },
  retentionDays: {
    env: 'RETENTION_DAYS',
    flag: '--retention-days <days>',
    description:
      'How many days events, deliveries and attempts are kept, from 1 to 36500; what still waits is kept longer.',
    default: 30,
    defaultText: '30',
    parse: parseCount('number of days', 36_500),
  },
  bootstrapToken: {
    env: 'BOOTSTRAP_TOKEN',
    flag: undefined,
    description: `A token for the user admin, ${bootstrapTokenForm}.`,
    default: undefined,
    defaultText: undefined,
    parse: parseBootstrapToken,
  },
  bootstrapTokenFile: {
    env: 'BOOTSTRAP_TOKEN_FILE',
    flag: '--bootstrap-token-file <file>',
    description: `A file that holds a token for the user admin, ${bootstrapTokenForm}.`,
    default: undefined,
    defaultText: undefined,
    parse: readBootstrapToken,
  },
  jwtIssuer: {
    env: 'JWT_ISSUER',
    flag: '--jwt-issuer <url>',
    description: 'The identity provider whose JWTs are taken as tokens, as their `iss` claim spells it.',
    default: undefined,
    defaultText: undefined,
    parse: parseJwtUrl('issuer'),
  },
  jwtAudience: {
    env: 'JWT_AUDIENCE',
    flag: '--jwt-audience <name>',
    description: 'What the `aud` claim of a JWT must name: this service, as the identity provider knows it.',
    default: undefined,
    defaultText: undefined,
    parse: parseText('audience'),
  },
  jwtJwksUrl: {
    env: 'JWT_JWKS_URL',
    flag: '--jwt-jwks-url <url>',
    description: "Where the identity provider's keys are.",
    default: undefined,
    defaultText: "as the issuer's discovery document says",
    parse: parseJwtUrl('JWKS URL'),
  },
  jwtUserClaim: {
    env: 'JWT_USER_CLAIM',
    flag: '--jwt-user-claim <name>',
    description: 'The claim of a JWT that names the user.',
    default: 'sub',
    defaultText: 'sub',
    parse: parseText('claim'),
  },
  rateLimit: {
    env: 'RATE_LIMIT',
    flag: '--rate-limit <rate>',
    description: `How many requests each token may make: ${rateForm}.`,
    default: undefined,
    defaultText: undefined,
    parse: parseRate,
  },
  authFailureLimit: {
    env: 'AUTH_FAILURE_LIMIT',
    flag: '--auth-failure-limit <number>',
    description: 'How many tokens of one address may be refused in a minute; 0 for any number.',
    default: 300,
    defaultText: '300',
    parse: parseCount('number of failures', access.mostAuthFailures, 0),
  },
  trustProxy: {
    env: 'TRUST_PROXY',
    flag: '--trust-proxy <cidrs>',
    description: "Networks of proxies that are believed when they name a client's address (X-Forwarded-For).",
    default: [],
    defaultText: undefined,
    parse: parseNetworks,
  },
  maxPlantsPerUser: {
    env: 'MAX_PLANTS_PER_USER',
    flag: '--max-plants-per-user <number>',
    description: 'How many plants a user may have.',
    default: undefined,
    defaultText: undefined,
    parse: parseCount('number of plants', access.mostPlantsPerUser),
  },
  otelExporterOtlpEndpoint: {
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    flag: '--otel-exporter-otlp-endpoint <url>',
    description:
      'The OpenTelemetry collector that gets traces (OTLP over HTTP, as JSON), such as http://localhost:4318.',
    default: undefined,
    defaultText: undefined,
    parse: parseEndpoint,
  },
  otelExporterOtlpHeaders: {
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    flag: undefined,
    description:
      'Header fields for the collector, such as its key: name=value, with commas between them, percent-encoded.',
    default: {},
    defaultText: undefined,
    parse: parseHeaders,
  },
  otelServiceName: {
    env: 'OTEL_SERVICE_NAME',
    flag: '--otel-service-name <name>',
    description: 'The name of the service in traces.',
    default: 'plant-store',
    defaultText: 'plant-store',
    parse: parseText('name of the service'),
  },
  otelResourceAttributes: {
    env: 'OTEL_RESOURCE_ATTRIBUTES',
    flag: '--otel-resource-attributes <pairs>',
    description:
      'What else traces say of this process: name=value, with commas between them, such as deployment.environment.name=production.',
    default: {},
    defaultText: undefined,
    parse: parseAttributes,
  },
  otelTracesSampler: {
    env: 'OTEL_TRACES_SAMPLER',
    flag: '--otel-traces-sampler <name>',
    description: `Which traces are kept: ${samplers.join(', ')}. With parentbased_, what the client decided counts.`,
    default: 'parentbased_always_on',
    defaultText: 'parentbased_always_on',
    parse: choice('sampler', samplers),
  },
  otelTracesSamplerArg: {
    env: 'OTEL_TRACES_SAMPLER_ARG',
    flag: '--otel-traces-sampler-arg <share>',
    description: 'The share of the traces that a sampler with a ratio keeps, from 0 to 1.',
    default: 1,
    defaultText: '1',
    parse: parseRatio,
  },
};

/** What the command line gave, by setting. */
export type Flags = { readonly [K in SettingName]?: string };
export type Environment = Readonly<Record<string, string | undefined>>;

/** Names every problem at once, so that a start does not fail once for each of them. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Settings from flags, else from the environment, else their defaults. An empty environment variable counts
 * as unset. Throws `ConfigError`.
 */
export function readConfig(env: Environment, flags: Flags = {}): Config {
  const { read, problems } = reader(env, flags);
  const token = read('bootstrapToken');
  const tokenOfFile = read('bootstrapTokenFile');
  const config: Config = {
    port: read('port'),
    host: read('host'),
    dataDir: read('dataDir'),
    databaseUrl: read('databaseUrl'),
    databaseConnections: read('databaseConnections'),
    databasePooler: read('databasePooler'),
    roles: read('roles'),
    publicUrl: read('publicUrl'),
    logLevel: read('logLevel'),
    logFormat: read('logFormat'),
    metricsPort: read('metricsPort'),
    metricsHost: read('metricsHost'),
    webhookAllowedNetworks: read('webhookAllowedNetworks'),
    webhookRetrySchedule: read('webhookRetrySchedule'),
    webhookConcurrency: read('webhookConcurrency'),
    webhookDisableAfter: read('webhookDisableAfter'),
    retentionDays: read('retentionDays'),
    bootstrapToken: token ?? tokenOfFile,
    jwtIssuer: read('jwtIssuer'),
    jwtAudience: read('jwtAudience'),
    jwtJwksUrl: read('jwtJwksUrl'),
    jwtUserClaim: read('jwtUserClaim'),
    rateLimit: read('rateLimit'),
    authFailureLimit: read('authFailureLimit'),
    trustProxy: read('trustProxy'),
    maxPlantsPerUser: read('maxPlantsPerUser'),
    otelExporterOtlpEndpoint: read('otelExporterOtlpEndpoint'),
    otelExporterOtlpHeaders: read('otelExporterOtlpHeaders'),
    otelServiceName: read('otelServiceName'),
    otelResourceAttributes: read('otelResourceAttributes'),
    otelTracesSampler: read('otelTracesSampler'),
    otelTracesSamplerArg: read('otelTracesSamplerArg'),
  };
  if (given('bootstrapToken', env, flags) && given('bootstrapTokenFile', env, flags)) {
    problems.push('BOOTSTRAP_TOKEN, BOOTSTRAP_TOKEN_FILE: Both are set; only one may be.');
  }
  if ((config.jwtIssuer === undefined) !== (config.jwtAudience === undefined)) {
    problems.push('JWT_ISSUER, JWT_AUDIENCE: Only one is set; JWTs are taken with both.');
  }
  if (config.jwtJwksUrl !== undefined && config.jwtIssuer === undefined) {
    problems.push('JWT_JWKS_URL: It is set without JWT_ISSUER and JWT_AUDIENCE.');
  }
  if (config.metricsPort === config.port && config.port !== 0) {
    problems.push('METRICS_PORT: It is the same as PORT; metrics have a port of their own.');
  }
  refuseTwoStores(config, flags, problems);
  if (config.databaseUrl === undefined && config.roles.size < roles.length) {
    problems.push('ROLES: Only replicas on a database can share the work (DATABASE_URL).');
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

/** Where the store is: what every verb that works on it needs. Throws `ConfigError`. */
export function readStoreConfig(env: Environment, flags: Flags): StoreConfig {
  const { read, problems } = reader(env, flags);
  const config: StoreConfig = {
    dataDir: read('dataDir'),
    databaseUrl: read('databaseUrl'),
    databasePooler: read('databasePooler'),
  };
  refuseTwoStores(config, flags, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

export type StoreConfig = Pick<Config, 'dataDir' | 'databaseUrl' | 'databasePooler'>;

function refuseTwoStores({ databaseUrl }: StoreConfig, { dataDir }: Flags, problems: string[]): void {
  if (databaseUrl !== undefined && dataDir !== undefined) {
    problems.push('--data-dir: DATABASE_URL is set, and the store is in that database.');
  }
}

function parseRoles(text: string): ReadonlySet<Role> {
  const parse = choice('role', roles);
  return new Set(text.split(',').map((name) => parse(name.trim())));
}

/** The embedded store's file in a data folder. */
export function storePath(dataDir: string): string {
  return join(dataDir, 'plant-store.db');
}

function reader(env: Environment, flags: Flags) {
  const problems: string[] = [];

  function read<K extends SettingName>(name: K): Values[K] {
    const setting = settings[name];
    const value = given(name, env, flags);
    if (value === undefined) return setting.default;
    try {
      return setting.parse(value.text);
    } catch (error) {
      problems.push(`${value.source}: ${error instanceof Error ? error.message : error}`);
      return setting.default;
    }
  }

  return { read, problems };
}

function given(name: SettingName, env: Environment, flags: Flags) {
  const setting = settings[name];
  const flag = flags[name];
  if (flag !== undefined) return { text: flag, source: setting.flag?.split(' ')[0] ?? setting.env };
  const text = env[setting.env];
  return text === undefined || text === '' ? undefined : { text, source: setting.env };
}
