import { ConfigError, type Environment } from '../config/config.ts';
import { plainUrl } from '../config/values.ts';
import { DEFAULT_PROFILE, isProfileName, type Profile, profileNameRule, readProfiles } from './profiles.ts';
import { shellWord } from './terminal/terminal.ts';

export type ApiFlags = { url?: string; token?: string; profile?: string };

/** A running service and the token to use there. */
export type Api = {
  /** Without a trailing slash. */
  url: string;
  token: string;
  /** Where the token comes from: a flag, an environment variable or a profile. */
  tokenFrom?: string;
};

export const DEFAULT_URL = 'http://127.0.0.1:3000';
export const URL_RULE = `an http or https URL without user name, password, query or fragment, such as ${DEFAULT_URL}`;
export const TOKEN_RULE = 'A token consists of printable ASCII characters without white space.';

/** The name of the profile to use. Throws `ConfigError`. */
export function profileNameOf({ profile }: ApiFlags): string {
  if (profile !== undefined) return profile;
  const name = process.env.PLANT_STORE_PROFILE || DEFAULT_PROFILE;
  if (isProfileName(name)) return name;
  throw new ConfigError([`PLANT_STORE_PROFILE: A profile name has ${profileNameRule}.`]);
}

/**
 * Reads URL and token. Each comes from its flag, else from the profile that `--profile` names, else from the
 * environment, else from the default profile. An empty environment variable counts as unset. A profile's token goes
 * only to that profile's URL; a token from the environment never goes to a profile's URL. Throws `ConfigError`.
 */
export function readApi(flags: ApiFlags): Api {
  const saved = findProfile(flags);
  const title = `The profile "${saved?.name}"`;
  // `--profile` overrides the environment.
  const set: Environment = flags.profile === undefined ? process.env : {};
  const service = given('--url', flags.url) ??
    given('PLANT_STORE_URL', set.PLANT_STORE_URL || undefined) ??
    given(title, saved?.url) ?? { from: '', text: DEFAULT_URL };
  const url = plainUrl(service.text);
  const token =
    given('--token', flags.token) ??
    given('PLANT_STORE_TOKEN', set.PLANT_STORE_TOKEN || undefined) ??
    given(title, saved && plainUrl(saved.url) === url ? saved.token : undefined);
  const problems: string[] = [];
  if (url === undefined) problems.push(`${service.from}: It must be ${URL_RULE}.`);
  if (token !== undefined && !isToken(token.text)) problems.push(`${token.from}: ${TOKEN_RULE}`);
  // Only a valid URL tells whether the profile's token is for it.
  if (token === undefined && url !== undefined) {
    problems.push(saved ? otherPlace(saved, url, flags.profile) : NO_TOKEN);
  }
  if (url === undefined || token === undefined || problems.length > 0) throw new ConfigError(problems);
  return { url, token: token.text, tokenFrom: token.from };
}

/** A value and where it comes from. */
type Given = { from: string; text: string };

function given(from: string, text: string | undefined): Given | undefined {
  return text === undefined ? undefined : { from, text };
}

const NO_TOKEN =
  'No token is set. Set PLANT_STORE_TOKEN, or save a token: plant-store login. To create one on the machine with the store: plant-store token create --user NAME';

type Saved = Profile & { name: string };

function otherPlace({ name, url: own }: Saved, url: string, named: string | undefined): string {
  return (
    `The token of the profile "${name}" is only for ${own}, not for ${url}. ` +
    `Save a token for that URL: plant-store login --url ${shellWord(url)} --profile NAME; ` +
    `or set PLANT_STORE_TOKEN${named === undefined ? '' : ' and omit --profile'}.`
  );
}

/** Undefined when no profile exists or none applies. */
function findProfile(flags: ApiFlags): Saved | undefined {
  const { PLANT_STORE_URL: setUrl, PLANT_STORE_TOKEN: setToken, PLANT_STORE_PROFILE: setName } = process.env;
  // Whether a profile that `--profile` does not name may supply what is missing.
  const mayApply = flags.token === undefined ? !setToken : flags.url === undefined && !setUrl;
  if (flags.profile === undefined && !mayApply) return undefined;
  const name = profileNameOf(flags);
  const profile = readProfiles().get(name);
  if (profile !== undefined) return { ...profile, name };
  if (flags.profile === undefined && !setName) return undefined;
  throw new ConfigError([
    `There is no profile "${name}". To create it: plant-store login --profile ${name}. To list profiles: plant-store login --list`,
  ]);
}

export function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}
