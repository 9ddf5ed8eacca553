import { join } from 'node:path';
import { roles, type SettingName, settings, type Values } from './settings.ts';

/** The operator's settings. Frozen, and passed in; nothing below `cli/` reads the environment. */
export type Config = Omit<Values, (typeof files)[keyof typeof files]>;

/** The settings whose value may be in a file, and the settings that name it. */
const files = { bootstrapToken: 'bootstrapTokenFile', databaseUrl: 'databaseUrlFile' } as const;

/** The command line's values, by setting. */
export type Flags = { readonly [K in SettingName]?: string };
export type Environment = Readonly<Record<string, string | undefined>>;

/** Names every problem at once, so that you do not have to restart for each one. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Reads settings from flags, then the environment, then defaults. An empty environment variable counts as unset.
 * Throws `ConfigError`.
 */
export function readConfig(env: Environment, flags: Flags = {}): Config {
  const apart: readonly string[] = Object.values(files);
  // `settings` has exactly these keys.
  const names = Object.keys(settings).filter((name) => !apart.includes(name)) as (keyof Config)[];
  const { values: config, problems } = read(names, env, flags);
  if ((config.jwtIssuer === undefined) !== (config.jwtAudience === undefined)) {
    problems.push('JWT_ISSUER, JWT_AUDIENCE: Only one is set; accepting JWTs needs both.');
  }
  if (config.jwtJwksUrl !== undefined && config.jwtIssuer === undefined) {
    problems.push('JWT_JWKS_URL: It is set without JWT_ISSUER and JWT_AUDIENCE.');
  }
  if (config.metricsPort === config.port && config.port !== 0) {
    problems.push('METRICS_PORT: It is the same as PORT; metrics need their own port.');
  }
  refuseTwoStores(config, flags, problems);
  if (config.databaseUrl === undefined && config.roles.size < roles.length) {
    problems.push('ROLES: Only replicas on a database can share the work (DATABASE_URL).');
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

export type StoreConfig = Pick<Config, 'dataDir' | 'databaseUrl' | 'databasePooler'>;

/** The location of the store, which every verb that works on it needs. Throws `ConfigError`. */
export function readStoreConfig(env: Environment, flags: Flags): StoreConfig {
  const { values, problems } = read(['dataDir', 'databaseUrl', 'databasePooler'], env, flags);
  refuseTwoStores(values, flags, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return values;
}

function refuseTwoStores({ databaseUrl }: StoreConfig, { dataDir }: Flags, problems: string[]): void {
  if (databaseUrl !== undefined && dataDir !== undefined) {
    problems.push('--data-dir: DATABASE_URL is set, so the store is in that database.');
  }
}

/** The embedded store's file in a data folder. */
export function storePath(dataDir: string): string {
  return join(dataDir, 'plant-store.db');
}

/** The file in a data folder whose lock a server holds. */
export function servingLock(dataDir: string): string {
  return join(dataDir, 'serving.lock');
}

function read<K extends SettingName>(names: readonly K[], env: Environment, flags: Flags) {
  const problems: string[] = [];

  const fileFor: { readonly [N in SettingName]?: SettingName } = files;
  function chosen(name: SettingName): unknown {
    const value = given(name, env, flags);
    const file = fileFor[name];
    if (value && file && given(file, env, flags)) {
      problems.push(`${settings[name].env}, ${settings[file].env}: Both are set; only one may be.`);
    }
    if (value) {
      try {
        return settings[name].parse(value.text);
      } catch (error) {
        problems.push(`${value.source}: ${error instanceof Error ? error.message : error}`);
      }
    }
    return file ? chosen(file) : settings[name].default;
  }

  // Each value is the parsed setting of that name.
  const values = Object.fromEntries(names.map((name) => [name, chosen(name)])) as Pick<Values, K>;
  return { values, problems };
}

function given(name: SettingName, env: Environment, flags: Flags) {
  const setting = settings[name];
  const flag = flags[name];
  if (flag !== undefined) return { text: flag, source: setting.flag?.split(' ')[0] ?? setting.env };
  const text = env[setting.env];
  return text === undefined || text === '' ? undefined : { text, source: setting.env };
}
