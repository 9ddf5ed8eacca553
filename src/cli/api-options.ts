import { type Command, InvalidArgumentError, Option } from 'commander';
import { ConfigError, type Environment } from '../config.ts';
import { DEFAULT_PROFILE, isProfileName, type Profile, profileNameRule, readProfiles } from './profiles.ts';
import { shellWord } from './terminal.ts';

/** What every verb that talks to a running service takes. */
export type ApiFlags = { url?: string; token?: string; profile?: string };

/** A running service, and as whom to talk to it. */
export type Api = {
  /** Without a slash at its end. */
  url: string;
  token: string;
};

export const DEFAULT_URL = 'http://127.0.0.1:3000';
export const URL_RULE = `an http or https URL without user name, password, query and fragment, such as ${DEFAULT_URL}`;
export const TOKEN_RULE = 'A token has one or more printable ASCII characters, and no white space.';

/** Adds `--url`, `--token` and `--profile`, and the warning that belongs to the second. */
export function addApiOptions(command: Command): Command {
  return command
    .addOption(new Option('--url <url>', `where the service is (PLANT_STORE_URL, default: ${DEFAULT_URL})`))
    .addOption(new Option('--token <token>', 'the token to act with (PLANT_STORE_TOKEN)'))
    .addOption(profileOption('what login has saved, for both of them'))
    .addHelpText(
      'after',
      '\nSave the token with "plant-store login", or give it in PLANT_STORE_TOKEN, rather than with --token: a command\n' +
        'line is visible to everybody on the machine.',
    );
}

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
 * only. Throws `ConfigError`.
 */
export function readApi(env: Environment, flags: ApiFlags): Api {
  const { profile: named } = flags;
  const saved = findProfile(env, flags);
  // Whoever names a profile on the command line means it, whatever the shell was set up for.
  const set: Environment = named === undefined ? env : {};
  const place = flags.url ?? (set.PLANT_STORE_URL || saved?.url || DEFAULT_URL);
  const url = parseUrl(place);
  const token = flags.token ?? (set.PLANT_STORE_TOKEN || (url === saved?.url ? saved?.token : undefined));
  const problems: string[] = [];
  if (url === undefined) {
    const source = flags.url === undefined ? 'PLANT_STORE_URL' : '--url';
    problems.push(`${source}: It must be ${URL_RULE}.`);
  }
  if (token === undefined) {
    // Without a place it is not known whether the profile has one for it.
    if (url !== undefined)
      problems.push(saved ? otherPlace(profileNameOf(env, flags), saved, url) : NO_TOKEN);
  } else if (!isToken(token)) {
    problems.push(`${flags.token === undefined ? 'PLANT_STORE_TOKEN' : '--token'}: ${TOKEN_RULE}`);
  }
  if (url === undefined || token === undefined || problems.length > 0) throw new ConfigError(problems);
  return { url, token };
}

const NO_TOKEN =
  'There is no token. Set PLANT_STORE_TOKEN to one, or save one: plant-store login; to make one, where the store is: plant-store token create --user NAME';

function otherPlace(name: string, saved: Profile, url: string): string {
  return (
    `The token of the profile "${name}" is for ${saved.url}, and is not sent to ${url}. ` +
    `Save one for that place: plant-store login --url ${shellWord(url)} --profile NAME; or set PLANT_STORE_TOKEN.`
  );
}

/** Undefined when there is none, or when it has no say. */
function findProfile(env: Environment, flags: ApiFlags): Profile | undefined {
  const isUrlKnown = flags.url !== undefined || Boolean(env.PLANT_STORE_URL);
  const isTokenKnown = flags.token !== undefined || Boolean(env.PLANT_STORE_TOKEN);
  if (flags.profile === undefined && isUrlKnown && isTokenKnown) return undefined;
  const name = profileNameOf(env, flags);
  const profile = readProfiles(env).get(name);
  if (profile === undefined && (flags.profile ?? (env.PLANT_STORE_PROFILE || undefined)) !== undefined) {
    throw new ConfigError([
      `There is no profile "${name}". To make it: plant-store login --profile ${name}; to see those there are: plant-store login --list`,
    ]);
  }
  return profile;
}

/** Without a slash at its end; undefined for what does not satisfy `URL_RULE`. */
export function parseUrl(text: string): string | undefined {
  // `URL` drops line breaks and surrounding white space silently.
  const url = /[\s\\?#]/.test(text) ? null : URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username === '' && url.password === '' ? url.href.replace(/\/+$/, '') : undefined;
}

/** Whether it satisfies `TOKEN_RULE`. */
export function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

function parseProfileName(text: string): string {
  if (isProfileName(text)) return text;
  throw new InvalidArgumentError(`The name of a profile has ${profileNameRule}.`);
}
