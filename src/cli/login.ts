import type { Command } from 'commander';
import { ConfigError } from '../config.ts';
import { ApiFailure } from './api-failure.ts';
import {
  type Api,
  DEFAULT_URL,
  isToken,
  parseUrl,
  profileNameOf,
  profileOption,
  TOKEN_RULE,
  URL_RULE,
} from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { Failure } from './failure.ts';
import { tokens } from './limits.ts';
import { userOf } from './me.ts';
import { type Profiles, readProfiles, writeProfiles } from './profiles.ts';
import { ask, askHidden } from './question.ts';
import { renderTable } from './table.ts';
import { print, say, visible } from './terminal.ts';

/** `login` */
export function login(command: Command): void {
  command
    .option('--url <url>', `where the service is (PLANT_STORE_URL, default: ${DEFAULT_URL})`)
    .option('--token-stdin', 'read the token from standard input instead of asking for it')
    .addOption(profileOption('under which name to save them'))
    .option('--list', 'show the profiles that are saved, without their tokens')
    .option('--json', 'with --list, print a JSON array of {name, url}')
    .configureHelp(
      examplesFirst(
        'login',
        'login --url https://plants.example.org --profile work',
        'plant list --profile work',
        'login --token-stdin < token',
        'login --list',
      ),
    )
    .addHelpText(
      'after',
      '\nAsks for what is not given, tries the token, and saves both for every verb that talks to a service, in\n' +
        '$XDG_CONFIG_HOME/plant-store/config.json or below ~/.config, which nobody else may read. What counts is: --url and\n' +
        '--token, --profile, PLANT_STORE_URL and PLANT_STORE_TOKEN, PLANT_STORE_PROFILE, the profile "default", in this\n' +
        'order. The token of a profile is sent to the URL of that profile, and to no other.',
    )
    .action(run);
}

type LoginFlags = { url?: string; tokenStdin?: true; profile?: string; list?: true; json?: true };

async function run(flags: LoginFlags, command: Command): Promise<void> {
  const profiles = readProfiles(process.env);
  if (flags.list) return show(profiles, flags.json);
  if (!flags.tokenStdin && !(process.stdin.isTTY && process.stderr.isTTY)) {
    command.error(
      'error: there is no terminal to ask on; --token-stdin reads the token from standard input',
      {
        exitCode: 2,
      },
    );
  }
  const name = profileNameOf(process.env, flags);
  const url = await urlFor(flags, profiles.get(name)?.url);
  const token = flags.tokenStdin ? await tokenFromInput() : await askHidden('Token (it is not shown): ');
  if (!isToken(token)) throw new ConfigError([`The token: ${TOKEN_RULE}`]);
  const user = await check({ url, token });
  const path = await writeProfiles(process.env, new Map(profiles).set(name, { url, token }));
  say(`Saved the profile "${name}" for ${url}, as the user "${visible(user)}", in ${path}.`);
  for (const variable of ['PLANT_STORE_URL', 'PLANT_STORE_TOKEN']) {
    if (process.env[variable]) say(`${variable} is set, and comes before it unless --profile names it.`);
  }
}

function show(profiles: Profiles, json: true | undefined): void {
  const saved = [...profiles].map(([name, { url }]) => ({ name, url }));
  if (json) print(JSON.stringify(saved, null, 2));
  else if (saved.length === 0) say('There are no profiles. To save one: plant-store login');
  else
    print(
      renderTable(
        ['NAME', 'URL'],
        saved.map(({ name, url }) => [name, url]),
        process.stdout,
      ),
    );
}

/** A person is asked, unless they have said it. */
async function urlFor({ url: given, tokenStdin }: LoginFlags, saved = DEFAULT_URL): Promise<string> {
  const usual = process.env.PLANT_STORE_URL || saved;
  const text = given ?? (tokenStdin ? usual : (await ask(`Where is the service? [${usual}] `)) || usual);
  const url = parseUrl(text);
  if (url !== undefined) return url;
  throw new ConfigError([`${given === undefined ? 'The URL' : '--url'}: It must be ${URL_RULE}.`]);
}

async function tokenFromInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.length > tokens.inputLength)
      throw new Failure('What is on standard input is too long for a token.');
  }
  return text.trim();
}

/** The user whom the token acts for, whatever it may do. Throws a `Failure` unless the service takes it. */
async function check(api: Api): Promise<string> {
  try {
    return await userOf(api);
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== 401) throw error;
    throw new Failure(
      `${api.url} does not take this token, and nothing was saved. To make one, where the store is: plant-store token create --user NAME`,
      { cause: error },
    );
  }
}
