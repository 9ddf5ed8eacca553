import { readFileSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ConfigError, type Environment } from '../config/config.ts';
import { unwritable, writeAtomically } from './atomic-file.ts';
import { Failure } from './failure.ts';
import { profiles as limits } from './limits.ts';

/** A service, and the token that `login` has saved for it, and for no other. */
export type Profile = {
  /** Without a slash at its end, unless somebody has written it there. */
  url: string;
  token: string;
  /** Whom the token acted for when it was saved. */
  user?: string;
};

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

/**
 * Replaces the file with what the change makes of the profiles there are, one change after another: a reader sees all of
 * it, before or after. Only its owner may read it. Resolves with its path.
 */
export async function changeProfiles(
  env: Environment,
  change: (profiles: Map<string, Profile>) => void,
): Promise<string> {
  const path = profilesPath(env);
  if (path === undefined) {
    throw new Failure('There is no place for a profile. Set HOME or XDG_CONFIG_HOME to a folder of yours.');
  }
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await alone(`${path}.lock`, async () => {
      const profiles = new Map(readProfiles(env));
      change(profiles);
      const text = JSON.stringify({ profiles: Object.fromEntries(profiles) }, null, 2);
      await writeAtomically(path, { mode: 0o600 }, (write) => write(`${text}\n`));
    });
  } catch (error) {
    throw unwritable(path, error, 'Nothing was saved.');
  }
  return path;
}

/** Does the work while no other program does its own under this lock: a file that is there for so long. */
async function alone(lock: string, work: () => Promise<void>): Promise<void> {
  await takeLock(lock);
  try {
    await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<void> {
  const deadline = performance.now() + limits.lockMs;
  for (;;) {
    try {
      return await (await open(lock, 'wx', 0o600)).close();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    if (performance.now() > deadline) {
      throw new Failure(
        `Another login has been changing the profiles for ${limits.lockMs / 1000} s. If none runs, remove ${lock}. Nothing was saved.`,
      );
    }
    await pause(limits.lookMs);
  }
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
    const { url, token, user } = profile;
    if (typeof url !== 'string' || typeof token !== 'string') return undefined;
    profiles.set(name, { url, token, ...(typeof user === 'string' && { user }) });
  }
  return profiles;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
