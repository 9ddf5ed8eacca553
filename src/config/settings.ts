/** Every setting: its name, form, default and help. One long file because it is one table. */

import { access, database, delivery } from '../limits.ts';
import { samplers } from '../tracing/port.ts';
import { DEFAULT_SCHEDULE, parseDelay, parseSchedule } from '../webhooks/delivery/schedule.ts';
import { parseNetworks } from '../webhooks/sending/addresses.ts';
import { parseDatabaseUrl } from './database-url.ts';
import {
  bootstrapTokenForm,
  choice,
  inFile,
  parseAttributes,
  parseBootstrapToken,
  parseCount,
  parseEndpoint,
  parseFolder,
  parseHeaders,
  parseHost,
  parseJwtUrl,
  parseOrigins,
  parsePort,
  parsePublicUrl,
  parseRate,
  parseRatio,
  parseText,
  rateForm,
} from './values.ts';

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const logFormats = ['json', 'pretty'] as const;
export const roles = ['api', 'dispatch'] as const;
const poolers = ['none', 'transaction'] as const;

export type Setting<T> = {
  /** The environment variable. */
  env: string;
  /** With a placeholder for its value, as the help shows it. A setting without a flag is a secret. */
  flag: string | undefined;
  /** One sentence about its effect and its valid values. */
  description: string;
  default: T;
  /** The default as the help and the reference show it; undefined when there is none. */
  defaultText: string | undefined;
  /** All values, if they are few. */
  choices: readonly string[] | undefined;
  /** Throws an `Error` whose message is a sentence with the rule. */
  parse(text: string): T;
};

/** The type `Config`, the flags, `--help`, `docs/reference/configuration.md` and `.env.example` are generated from it. */
export const settings = {
  /** 0: the system picks a free one. */
  port: setting('PORT', {
    takes: '<number>',
    description: 'The TCP port to listen on; 0 picks a free one and prints it.',
    parse: parsePort,
    default: '3000',
  }),
  host: setting('HOST', {
    takes: '<address>',
    description: 'The address to listen on; 0.0.0.0 or :: for all addresses of the machine.',
    parse: parseHost,
    default: '127.0.0.1',
  }),
  /** Absolute. */
  dataDir: setting('DATA_DIR', {
    takes: '<folder>',
    description:
      'The folder that holds the store, unless DATABASE_URL names a database; serve creates it if it is missing.',
    parse: parseFolder,
    default: './data',
  }),
  /** Undefined for the embedded store. */
  databaseUrl: setting('DATABASE_URL', {
    description:
      'A PostgreSQL database that holds the store, instead of the data folder: postgres://user:password@host:5432/name. ' +
      'Separate several hosts with commas; the service uses the one that accepts writes.',
    parse: parseDatabaseUrl,
  }),
  databaseUrlFile: setting('DATABASE_URL_FILE', {
    takes: '<file>',
    description: 'A file that holds what DATABASE_URL would, such as a mounted secret.',
    parse: inFile(parseDatabaseUrl),
  }),
  databaseConnections: setting('DATABASE_CONNECTIONS', {
    takes: '<number>',
    description: `How many connections to the database may be open at a time, from 2 to ${database.mostConnections}; one more listens for notifications.`,
    parse: parseCount('number of connections', database.mostConnections, 2),
    default: '10',
  }),
  databasePooler: setting('DATABASE_POOLER', {
    takes: '<kind>',
    description:
      'What is in front of the database: none, or a pooler that may run each transaction in another session (PgBouncer: transaction).',
    parse: choice('pooler', poolers),
    default: 'none',
  }),
  roles: setting('ROLES', {
    takes: '<roles>',
    description:
      'What this replica does: api (answer requests), dispatch (send webhooks, clean up), or both.',
    parse: Object.assign(parseRoles, { choices: [...roles, roles.join()] }),
    default: roles.join(),
  }),
  /** Without a trailing slash. */
  publicUrl: setting('PUBLIC_URL', {
    takes: '<url>',
    description: 'Where clients reach the service if it runs behind a proxy.',
    parse: parsePublicUrl,
  }),
  logLevel: setting('LOG_LEVEL', {
    takes: '<level>',
    description: `The least important messages to log: ${logLevels.join(', ')}.`,
    parse: choice('log level', logLevels),
    default: 'info',
  }),
  logFormat: setting('LOG_FORMAT', {
    takes: '<format>',
    description: 'The format of the log on standard output: json (for programs) or pretty (for people).',
    parse: choice('log format', logFormats),
    otherwise: 'pretty on a terminal, else json',
  }),
  /** Undefined: no metrics. 0: the system picks a free one. */
  metricsPort: setting('METRICS_PORT', {
    takes: '<number>',
    description:
      'The TCP port that serves /metrics for Prometheus, and nothing else; 0 picks a free one and logs it. ' +
      'Without it the service measures nothing.',
    parse: parsePort,
  }),
  metricsHost: setting('METRICS_HOST', {
    takes: '<address>',
    description:
      'The address to serve metrics on; 0.0.0.0 in a container. Metrics need no token: do not expose them to the internet.',
    parse: parseHost,
    default: '127.0.0.1',
  }),
  webhookAllowedNetworks: setting('WEBHOOK_ALLOWED_NETWORKS', {
    takes: '<cidrs>',
    description: 'Networks that webhooks may reach in addition to the public internet, also over plain http.',
    parse: parseNetworks,
    default: '',
  }),
  webhookRetrySchedule: setting('WEBHOOK_RETRY_SCHEDULE', {
    takes: '<delays>',
    description: 'When to attempt a delivery: each delay counts from the previous attempt.',
    parse: parseSchedule,
    default: DEFAULT_SCHEDULE,
  }),
  webhookConcurrency: setting('WEBHOOK_CONCURRENCY', {
    takes: '<number>',
    description: `How many requests may be in flight to one webhook, from 1 to ${delivery.perWebhook}.`,
    parse: parseCount('concurrency', delivery.perWebhook),
    default: '16',
  }),
  /** Milliseconds. */
  webhookDisableAfter: setting('WEBHOOK_DISABLE_AFTER', {
    takes: '<duration>',
    description:
      'How long every attempt for a webhook must fail before the service disables it and holds its deliveries.',
    parse: parseDelay,
    default: '5d',
  }),
  retentionDays: setting('RETENTION_DAYS', {
    takes: '<days>',
    description:
      'How many days to keep events, deliveries and attempts, from 1 to 36500; waiting deliveries are kept longer.',
    parse: parseCount('number of days', 36_500),
    default: '30',
  }),
  bootstrapToken: setting('BOOTSTRAP_TOKEN', {
    description: `A token for the user admin, ${bootstrapTokenForm}.`,
    parse: parseBootstrapToken,
  }),
  bootstrapTokenFile: setting('BOOTSTRAP_TOKEN_FILE', {
    takes: '<file>',
    description: `A file that holds a token for the user admin, ${bootstrapTokenForm}.`,
    parse: inFile(parseBootstrapToken),
  }),
  /** JWTs are accepted with both an issuer and an audience. */
  jwtIssuer: setting('JWT_ISSUER', {
    takes: '<url>',
    description:
      'The identity provider whose JWTs are accepted as tokens, exactly as their `iss` claim spells it.',
    parse: parseJwtUrl('issuer'),
  }),
  jwtAudience: setting('JWT_AUDIENCE', {
    takes: '<name>',
    description:
      'The value that the `aud` claim of a JWT must contain: the name of this service at the identity provider.',
    parse: parseText('audience'),
  }),
  /** Undefined: read from the issuer's discovery document. */
  jwtJwksUrl: setting('JWT_JWKS_URL', {
    takes: '<url>',
    description: "The URL of the identity provider's keys.",
    parse: parseJwtUrl('JWKS URL'),
    otherwise: "from the issuer's discovery document",
  }),
  jwtUserClaim: setting('JWT_USER_CLAIM', {
    takes: '<name>',
    description: 'The claim of a JWT that names the user.',
    parse: parseText('claim'),
    default: 'sub',
  }),
  jwtScopeClaim: setting('JWT_SCOPE_CLAIM', {
    takes: '<name>',
    description:
      'The claim of a JWT that lists its scopes, as a text separated by spaces or as an array: `scope`, `scp`, ' +
      '`permissions`.',
    parse: parseText('claim'),
    default: 'scope',
  }),
  /** Undefined for no limit. */
  rateLimit: setting('RATE_LIMIT', {
    takes: '<rate>',
    description: `How many requests each token may make: ${rateForm}.`,
    parse: parseRate,
  }),
  authFailureLimit: setting('AUTH_FAILURE_LIMIT', {
    takes: '<number>',
    description: 'How many failed authentications one address may cause in a minute; 0 for any number.',
    parse: parseCount('number of failures', access.mostAuthFailures, 0),
    default: '300',
  }),
  trustProxy: setting('TRUST_PROXY', {
    takes: '<cidrs>',
    description: 'Networks of the proxies whose X-Forwarded-For is trusted.',
    parse: parseNetworks,
    default: '',
  }),
  corsOrigins: setting('CORS_ORIGINS', {
    takes: '<origins>',
    description:
      'Other origins whose pages may call the API from a browser, such as `https://garden.example.org`.',
    parse: parseOrigins,
    default: '',
  }),
  /** Undefined for no limit. */
  maxPlantsPerUser: setting('MAX_PLANTS_PER_USER', {
    takes: '<number>',
    description: 'How many plants a user may have.',
    parse: parseCount('number of plants', access.mostPlantsPerUser),
  }),
  /** Without a trailing slash; undefined for no traces. */
  otelExporterOtlpEndpoint: setting('OTEL_EXPORTER_OTLP_ENDPOINT', {
    takes: '<url>',
    description:
      'The OpenTelemetry collector to send traces to (OTLP over HTTP, as JSON), such as http://localhost:4318.',
    parse: parseEndpoint,
  }),
  otelExporterOtlpHeaders: setting('OTEL_EXPORTER_OTLP_HEADERS', {
    description:
      'Header fields for the collector, such as an API key: name=value pairs, separated by commas, percent-encoded.',
    parse: parseHeaders,
    default: '',
  }),
  otelServiceName: setting('OTEL_SERVICE_NAME', {
    takes: '<name>',
    description: 'The name of the service in traces.',
    parse: parseText('name of the service'),
    default: 'plant-store',
  }),
  otelResourceAttributes: setting('OTEL_RESOURCE_ATTRIBUTES', {
    takes: '<pairs>',
    description:
      'Further attributes of this process in traces: name=value pairs, separated by commas, such as deployment.environment.name=production.',
    parse: parseAttributes,
    default: '',
  }),
  otelTracesSampler: setting('OTEL_TRACES_SAMPLER', {
    takes: '<name>',
    description: `Which traces to keep: ${samplers.join(', ')}. With parentbased_, the client decides for its own traces.`,
    parse: choice('sampler', samplers),
    default: 'parentbased_always_on',
  }),
  otelTracesSamplerArg: setting('OTEL_TRACES_SAMPLER_ARG', {
    takes: '<share>',
    description: 'The share of traces that a ratio sampler keeps, from 0 to 1.',
    parse: parseRatio,
    default: '1',
  }),
};

export type SettingName = keyof typeof settings;

/** The parsed type of each setting. */
export type Values = { readonly [K in SettingName]: (typeof settings)[K]['default'] };

type Form<T> = {
  /** The placeholder of its flag; absent for a secret, since everybody can see a command line. */
  takes?: string;
  description: string;
  parse: ((text: string) => T) & { choices?: readonly string[] };
  /** As a user would write it. */
  default?: string;
  /** What happens without it, if no value describes that. */
  otherwise?: string;
};

function setting<T>(env: string, form: Form<T> & { default: string }): Setting<T>;
function setting<T>(env: string, form: Form<T>): Setting<T | undefined>;
function setting<T>(env: string, form: Form<T>): Setting<T | undefined> {
  const { takes, description, parse, default: text, otherwise } = form;
  return {
    env,
    flag: takes && `--${env.toLowerCase().replaceAll('_', '-')} ${takes}`,
    description,
    default: text === undefined ? undefined : parse(text),
    defaultText: text || otherwise,
    choices: parse.choices,
    parse,
  };
}

function parseRoles(text: string): ReadonlySet<(typeof roles)[number]> {
  const parse = choice('role', roles);
  return new Set(text.split(',').map((name) => parse(name.trim())));
}
