import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { ConfigError, type Environment } from '../config.ts';
import { writeAtomically } from './atomic-file.ts';
import { Failure } from './failure.ts';

/** A service, and the token that `login` has saved for it, and for no other. */
export type Profile = { url: string; token: string };

/** By name. */
export type Profiles = ReadonlyMap<string, Profile>;

/** The one that counts when none is named. */
export const DEFAULT_PROFILE = 'default';

export const profileNameRule = '1 to 64 letters, digits, dots, underscores and hyphens';

/** Such a name is one word for a shell, whatever completes it. */
export function isProfileName(text: string): boolean {
  return /^[A-Za-z0-9_][\w.-]{0,63}$/.test(text);
}

/**
 * Where profiles are kept: `$XDG_CONFIG_HOME/plant-store/config.json`, else below `~/.config` (XDG Base Directory
 * Specification, by which a relative path does not count). Undefined for a user without a home.
 */
export function profilesPath({ XDG_CONFIG_HOME: config, HOME: home }: Environment): string | undefined {
  if (config && isAbsolute(config)) return join(config, 'plant-store', 'config.json');
  return home ? join(home, '.config', 'plant-store', 'config.json') : undefined;
}

/** All there are. Throws `ConfigError` for a file that cannot be read. */
export function readProfiles(env: Environment): Profiles {
  const path = profilesPath(env);
  const text = path === undefined ? undefined : textOf(path);
  if (path === undefined || text === undefined) return new Map();
  const profiles = parseProfiles(text);
  if (profiles !== undefined) return profiles;
  throw new ConfigError([
    `${path}: It is not a file of profiles. Correct it, or remove it and save them again: plant-store login`,
  ]);
}

/** Replaces the file: a reader sees all of it, before or after. Only its owner may read it. */
export async function writeProfiles(env: Environment, profiles: Profiles): Promise<string> {
  const path = profilesPath(env);
  if (path === undefined) {
    throw new Failure('There is no place for a profile. Set HOME or XDG_CONFIG_HOME to a folder of yours.');
  }
  const text = JSON.stringify({ profiles: Object.fromEntries(profiles) }, null, 2);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeAtomically(path, { mode: 0o600 }, (write) => write(`${text}\n`));
  return path;
}

/** Undefined when there is no such file. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`${path}: It cannot be read: ${reason}`]);
  }
}

function parseProfiles(text: string): Profiles | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || !isObject(value.profiles)) return undefined;
  const profiles = new Map<string, Profile>();
  for (const [name, profile] of Object.entries(value.profiles)) {
    if (!isProfileName(name) || !isObject(profile)) return undefined;
    const { url, token } = profile;
    if (typeof url !== 'string' || typeof token !== 'string') return undefined;
    profiles.set(name, { url, token });
  }
  return profiles;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
