import { PlantStoreError } from '../../../packages/client/src/plant-store-error.ts';
import { ConfigError } from '../../config/config.ts';
import { plainUrl } from '../../config/values.ts';
import { connect } from '../api.ts';
import {
  type Api,
  type ApiFlags,
  DEFAULT_URL,
  isToken,
  profileNameOf,
  readApi,
  TOKEN_RULE,
  URL_RULE,
} from '../api-options.ts';
import { Failure, Misuse } from '../failure.ts';
import { tokens } from '../limits.ts';
import { changeProfiles, DEFAULT_PROFILE, type Profiles, readProfiles } from '../profiles.ts';
import { startQuestions } from '../terminal/question.ts';
import { renderFields, renderTable } from '../terminal/table.ts';
import { canAsk, print, printJson, say } from '../terminal/terminal.ts';
import { option, profileOption, type Verb } from '../verb.ts';

export const verb: Verb = {
  options: [
    option('--url <url>', `the service's URL (PLANT_STORE_URL, default: ${DEFAULT_URL})`),
    option('--token-stdin', 'read the token from standard input instead of asking for it'),
    profileOption('the profile to save them under'),
    option('--list', 'list the saved profiles, without their tokens'),
    option('--json', 'with --list, print a JSON array of {name, url, user, isUsed}'),
  ],
  examples: [
    'login',
    'login --url https://plants.example.org --profile work',
    'plant list --profile work',
    'login --token-stdin < token',
    'login --list',
  ],
  notes: `Asks for what is not given, tries the token, and saves both for every verb that talks to a service, in
$XDG_CONFIG_HOME/plant-store/config.json or below ~/.config. Only you can read the file. The order of precedence is:
--url and --token, --profile, PLANT_STORE_URL and PLANT_STORE_TOKEN, PLANT_STORE_PROFILE, the profile "default". A
profile's token is sent only to that profile's URL. The token in PLANT_STORE_TOKEN is sent to --url, PLANT_STORE_URL or
the default URL, never to a profile's URL.`,
  run,
};

export const logout: Verb = {
  options: [profileOption('the profile to forget')],
  examples: ['logout', 'logout --profile work'],
  notes: 'The token itself stays valid; "plant-store token revoke" revokes it.',
  async run(flags: { profile?: string }) {
    const name = profileNameOf(flags);
    await changeProfiles((profiles) => {
      if (profiles.delete(name)) return;
      throw new Failure(`There is no profile "${name}". To list profiles: plant-store login --list`);
    });
    say(`Forgot the profile "${name}". Its token stays valid until revoked: plant-store token revoke ID`);
  },
};

export const whoami: Verb = {
  options: [option('--json', 'print the answer as a JSON object')],
  examples: ['whoami', 'whoami --profile work --json | jq -r .user'],
  isRemote: true,
  async run(flags: ApiFlags & { json?: true }) {
    const api = readApi(flags);
    const me = await connect(api).me();
    if (flags.json) return printJson(me);
    const fields = [
      ['User', me.user],
      ['Scopes', me.scopes.join(', ')],
      ['Expires', me.expiresAt ?? 'never'],
      ['Service', api.url],
      ['Token', api.tokenFrom],
    ] as const;
    print(renderFields(fields));
  },
};

type LoginFlags = { url?: string; tokenStdin?: true; profile?: string; list?: true; json?: true };

async function run(flags: LoginFlags): Promise<void> {
  const profiles = readProfiles();
  if (flags.list) return show(profiles, flags.json);
  if (!flags.tokenStdin && !canAsk()) {
    throw new Misuse('no terminal to ask on; --token-stdin reads the token from standard input');
  }
  const name = profileNameOf(flags);
  const api = await apiFor(flags, process.env.PLANT_STORE_URL || profiles.get(name)?.url || DEFAULT_URL);
  const user = await check(api);
  const path = await changeProfiles((all) => all.set(name, { ...api, user }));
  say(`Saved the profile "${name}" for ${api.url}, as the user "${user}", in ${path}.`);
  sayWhatIsSet();
}

function sayWhatIsSet(): void {
  for (const variable of ['PLANT_STORE_URL', 'PLANT_STORE_TOKEN']) {
    if (process.env[variable]) say(`${variable} is set and overrides the profile unless you pass --profile.`);
  }
}

function show(profiles: Profiles, json: true | undefined): void {
  const used = process.env.PLANT_STORE_PROFILE || DEFAULT_PROFILE;
  const saved = [...profiles].map(([name, { url, user }]) => ({
    name,
    url,
    user,
    isUsed: name === used,
  }));
  const rows = saved.map(({ name, url, user = '', isUsed }) => [name, url, user, isUsed ? 'yes' : '']);
  if (json) printJson(saved);
  else if (saved.length === 0) say('No profiles are saved. To save one: plant-store login');
  else print(renderTable(['NAME', 'URL', 'USER', 'IN USE'], rows));
  if (saved.some(({ isUsed }) => isUsed)) sayWhatIsSet();
}

/** Asks for what the flags do not give. */
async function apiFor({ url, tokenStdin }: LoginFlags, usual: string): Promise<Api> {
  if (tokenStdin) return { url: urlOf(url, usual), token: tokenOf(await tokenFromInput()) };
  using questions = startQuestions();
  const ask = async (...question: Parameters<typeof questions.ask>) => {
    const answer = await questions.ask(...question);
    if (answer === undefined) throw new Failure('Nothing was saved.');
    return answer;
  };
  const named = url === undefined ? (await ask(`Where is the service? [${usual}] `)) || usual : '';
  const service = urlOf(url, named);
  return { url: service, token: tokenOf(await ask('Token (it is not shown): ', { isHidden: true })) };
}

function urlOf(flag: string | undefined, otherwise: string): string {
  const url = plainUrl(flag ?? otherwise);
  if (url !== undefined) return url;
  throw new ConfigError([`${flag === undefined ? 'The URL' : '--url'}: It must be ${URL_RULE}.`]);
}

function tokenOf(text: string): string {
  if (isToken(text)) return text;
  throw new ConfigError([`The token: ${TOKEN_RULE}`]);
}

async function tokenFromInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.length > tokens.inputLength) throw new Failure('Standard input is too long for a token.');
  }
  return text.trim();
}

/** Returns the token's user. Throws a `Failure` unless the service accepts the token. */
async function check(api: Api): Promise<string> {
  try {
    return (await connect(api).me()).user;
  } catch (error) {
    if (!(error instanceof PlantStoreError) || error.status !== 401) throw error;
    throw new Failure(
      `${api.url} does not accept this token. Nothing was saved. To create one on the machine with the store: plant-store token create --user NAME`,
      { cause: error },
    );
  }
}
