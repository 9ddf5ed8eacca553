import { InvalidArgumentError, Option } from 'commander';
import { ConfigError, type Environment } from '../config/config.ts';
import { DEFAULT_PROFILE, isProfileName, type Profile, profileNameRule, readProfiles } from './profiles.ts';
import { shellWord } from './terminal/terminal.ts';

/** What every verb that talks to a running service takes. */
export type ApiFlags = { url?: string; token?: string; profile?: string };

/** A running service, and as whom to talk to it. */
export type Api = {
  /** Without a slash at its end. */
  url: string;
  token: string;
  /** Who has said the token: the name of a flag, of a variable, or a profile. */
  tokenFrom?: string;
};

export const DEFAULT_URL = 'http://127.0.0.1:3000';
export const URL_RULE = `an http or https URL without user name, password, query and fragment, such as ${DEFAULT_URL}`;
export const TOKEN_RULE = 'A token has one or more printable ASCII characters, and no white space.';

/** `--url`, `--token` and `--profile`. */
export function apiOptions(): Option[] {
  return [
    new Option('--url <url>', `where the service is (PLANT_STORE_URL, default: ${DEFAULT_URL})`),
    new Option('--token <token>', 'the token to act with (PLANT_STORE_TOKEN)'),
    profileOption('what login has saved, for both of them'),
  ];
}

/** What belongs to the second. */
export const API_NOTE = `Save the token with "plant-store login", or give it in PLANT_STORE_TOKEN, rather than with --token: a command
line is visible to everybody on the machine.`;

/** `--profile`, for what it is meant here. */
export function profileOption(description: string): Option {
  return new Option(
    '--profile <name>',
    `${description} (PLANT_STORE_PROFILE, default: ${DEFAULT_PROFILE})`,
  ).argParser(parseProfileName);
}

/** Which profile is meant. Throws `ConfigError`. */
export function profileNameOf(env: Environment, { profile }: ApiFlags): string {
  if (profile !== undefined) return profile;
  const name = env.PLANT_STORE_PROFILE || DEFAULT_PROFILE;
  if (isProfileName(name)) return name;
  throw new ConfigError([`PLANT_STORE_PROFILE: The name of a profile has ${profileNameRule}.`]);
}

/**
 * URL and token, each from its flag, else from the profile that `--profile` names, else from the environment, else from
 * the profile that counts then. An empty environment variable counts as unset. The token of a profile goes with its URL
 * only, and a token of the environment never with the URL of a profile. Throws `ConfigError`.
 */
export function readApi(env: Environment, flags: ApiFlags): Api {
  const saved = findProfile(env, flags);
  // Whoever names a profile on the command line means it, whatever the shell was set up for.
  const set: Environment = flags.profile === undefined ? env : {};
  const place = given('--url', flags.url) ??
    given('PLANT_STORE_URL', set.PLANT_STORE_URL || undefined) ??
    given(titleOf(saved), saved?.url) ?? { from: '', text: DEFAULT_URL };
  const url = parseUrl(place.text);
  const token =
    given('--token', flags.token) ??
    given('PLANT_STORE_TOKEN', set.PLANT_STORE_TOKEN || undefined) ??
    given(titleOf(saved), saved && parseUrl(saved.url) === url ? saved.token : undefined);
  const problems: string[] = [];
  if (url === undefined) problems.push(`${place.from}: It must be ${URL_RULE}.`);
  if (token !== undefined && !isToken(token.text)) problems.push(`${token.from}: ${TOKEN_RULE}`);
  // Without a place it is not known whether the profile has one for it.
  if (token === undefined && url !== undefined) {
    problems.push(saved ? otherPlace(saved, url, flags) : NO_TOKEN);
  }
  if (url === undefined || token === undefined || problems.length > 0) throw new ConfigError(problems);
  return { url, token: token.text, tokenFrom: token.from };
}

/** A text, and who has said it. */
type Given = { from: string; text: string };

function given(from: string, text: string | undefined): Given | undefined {
  return text === undefined ? undefined : { from, text };
}

const NO_TOKEN =
  'There is no token. Set PLANT_STORE_TOKEN to one, or save one: plant-store login; to make one, where the store is: plant-store token create --user NAME';

type Saved = Profile & { name: string };

function titleOf(saved: Saved | undefined): string {
  return `The profile "${saved?.name}"`;
}

function otherPlace({ name, url: own }: Saved, url: string, { profile: named }: ApiFlags): string {
  const rest =
    named === undefined ? 'or set PLANT_STORE_TOKEN' : 'or set PLANT_STORE_TOKEN, and name no profile';
  return (
    `The token of the profile "${name}" is for ${own}, and is not sent to ${url}. ` +
    `Save one for that place: plant-store login --url ${shellWord(url)} --profile NAME; ${rest}.`
  );
}

/** Undefined when there is none, or when it has no say. */
function findProfile(env: Environment, flags: ApiFlags): Saved | undefined {
  if (flags.profile === undefined && !hasSay(env, flags)) return undefined;
  const name = profileNameOf(env, flags);
  const profile = readProfiles(env).get(name);
  if (profile !== undefined) return { ...profile, name };
  if (flags.profile === undefined && !env.PLANT_STORE_PROFILE) return undefined;
  throw new ConfigError([
    `There is no profile "${name}". To make it: plant-store login --profile ${name}; to see those there are: plant-store login --list`,
  ]);
}

/** Whether a profile that nobody names on the command line is asked for what is missing. */
function hasSay(
  { PLANT_STORE_URL: setUrl, PLANT_STORE_TOKEN: setToken }: Environment,
  { url, token }: ApiFlags,
) {
  if (token === undefined) return !setToken;
  return url === undefined && !setUrl;
}

/** Without a slash at its end; undefined for what does not satisfy `URL_RULE`. */
export function parseUrl(text: string): string | undefined {
  // `URL` drops line breaks and surrounding white space silently.
  const url = /[\s\\?#]/.test(text) ? null : URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username === '' && url.password === '' ? url.href.replace(/\/+$/, '') : undefined;
}

export function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

function parseProfileName(text: string): string {
  if (isProfileName(text)) return text;
  throw new InvalidArgumentError(`The name of a profile has ${profileNameRule}.`);
}
