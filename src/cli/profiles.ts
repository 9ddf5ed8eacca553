import { readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { ConfigError } from '../config/config.ts';
import { unwritable, writeAtomically } from './atomic-file.ts';
import { Failure } from './failure.ts';
import { profiles as limits } from './limits.ts';
import { codeOf } from './service/system-failure.ts';

/** A service and the token that `login` saved for it. The token goes to no other service. */
export type Profile = {
  /** Without a trailing slash, unless someone edited the file. */
  url: string;
  token: string;
  /** The token's user when it was saved. */
  user?: string;
};

export type Profiles = Map<string, Profile>;

export const DEFAULT_PROFILE = 'default';

export const profileNameRule = '1 to 64 letters, digits, dots, underscores and hyphens';

/** A valid name is one shell word, so completion needs no quoting. */
export function isProfileName(text: string): boolean {
  return /^[A-Za-z0-9_][\w.-]{0,63}$/.test(text);
}

/**
 * The file of profiles: `$XDG_CONFIG_HOME/plant-store/config.json`, else below `~/.config` (XDG Base Directory
 * Specification, which ignores a relative path). Undefined for a user without a home.
 */
function profilesPath(): string | undefined {
  const { XDG_CONFIG_HOME: config, HOME: home } = process.env;
  if (config && isAbsolute(config)) return join(config, 'plant-store', 'config.json');
  return home ? join(home, '.config', 'plant-store', 'config.json') : undefined;
}

/** Reads all profiles. Throws `ConfigError` for an unreadable file. */
export function readProfiles(): Profiles {
  const path = profilesPath();
  const text = path && textOf(path);
  if (text === undefined) return new Map();
  const profiles = parseProfiles(text);
  if (profiles !== undefined) return profiles;
  throw new ConfigError([
    `${path}: This is not a valid file of profiles. Correct it, or remove it and log in again: plant-store login`,
  ]);
}

/** Changes the profiles under a lock, atomically. Only the owner may read the file. Resolves with its path. */
export async function changeProfiles(change: (profiles: Profiles) => void): Promise<string> {
  const path = profilesPath();
  if (path === undefined) throw new Failure('Profiles have no folder. Set HOME or XDG_CONFIG_HOME.');
  const lock = `${path}.lock`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    using _lock = await takeLock(lock);
    try {
      const profiles = readProfiles();
      change(profiles);
      const text = JSON.stringify({ profiles: Object.fromEntries(profiles) }, null, 2);
      await writeAtomically(path, { mode: 0o600, replaces: true }, (write) => write(`${text}\n`));
    } finally {
      // First: once released, the file may be another's. Windows keeps it, because it is open.
      await rm(lock, { force: true }).catch(() => {});
    }
  } catch (error) {
    throw unwritable(path, error, 'Nothing was saved.');
  }
  return path;
}

/** The system releases the lock of a process that was killed. */
async function takeLock(path: string): Promise<Disposable> {
  // Only here: most verbs read the profiles and need no SQLite.
  const { tryLock } = await import('../store/sqlite/files/lock.ts');
  const lock = tryLock(path, limits.lockMs);
  if (lock !== undefined) return lock;
  const seconds = limits.lockMs / 1000;
  throw new Failure(`Nothing was saved: for ${seconds} s another login has been changing the profiles.`);
}

/** Undefined when the file does not exist. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`${path}: Cannot be read: ${reason}`]);
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
  const profiles: Profiles = new Map();
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
