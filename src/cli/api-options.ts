import { type Command, Option } from 'commander';
import { ConfigError, type Environment } from '../config.ts';

/** What every verb that talks to a running service takes. */
export type ApiFlags = { url?: string; token?: string };

/** A running service, and as whom to talk to it. */
export type Api = {
  /** Without a slash at its end. */
  url: string;
  token: string;
};

const DEFAULT_URL = 'http://127.0.0.1:3000';
const URL_RULE = `an http or https URL without user name, password, query and fragment, such as ${DEFAULT_URL}`;

/** Adds `--url` and `--token`, and the warning that belongs to the latter. */
export function addApiOptions(command: Command): Command {
  return command
    .addOption(new Option('--url <url>', `where the service is (PLANT_STORE_URL, default: ${DEFAULT_URL})`))
    .addOption(new Option('--token <token>', 'the token to act with (PLANT_STORE_TOKEN)'))
    .addHelpText(
      'after',
      '\nGive the token in PLANT_STORE_TOKEN rather than with --token: a command line is visible to everybody on\n' +
        'the machine.',
    );
}

/** From flags, else from the environment. An empty environment variable counts as unset. Throws `ConfigError`. */
export function readApi(env: Environment, flags: ApiFlags): Api {
  const problems: string[] = [];
  const urlSource = flags.url === undefined ? 'PLANT_STORE_URL' : '--url';
  const tokenSource = flags.token === undefined ? 'PLANT_STORE_TOKEN' : '--token';
  const url = parseUrl(flags.url ?? (env.PLANT_STORE_URL || DEFAULT_URL));
  const token = flags.token ?? env.PLANT_STORE_TOKEN ?? '';
  if (url === undefined) problems.push(`${urlSource}: It must be ${URL_RULE}.`);
  if (token === '') {
    problems.push(
      'There is no token. Set PLANT_STORE_TOKEN to one; to make one, where the store is: plant-store token create --user NAME',
    );
  } else if (!/^[\x21-\x7e]+$/.test(token)) {
    problems.push(`${tokenSource}: A token has printable ASCII characters only, and no white space.`);
  }
  if (url === undefined || problems.length > 0) throw new ConfigError(problems);
  return { url, token };
}

function parseUrl(text: string): string | undefined {
  // `URL` drops line breaks and surrounding white space silently.
  const url = /[\s\\?#]/.test(text) ? null : URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username === '' && url.password === '' ? url.href.replace(/\/+$/, '') : undefined;
}
