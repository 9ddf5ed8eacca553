import { Argument, type Command, Help, InvalidArgumentError, Option } from 'commander';
import { type SettingName, settings } from '../config/settings.ts';
import { canonicalId, Id, type PlantId } from '../plants/plant.ts';
import { DEFAULT_URL } from './api-options.ts';
import { Misuse } from './failure.ts';
import { DEFAULT_PROFILE, isProfileName, profileNameRule } from './profiles.ts';

export type Verb = {
  /** For the help of its group. A verb without a group is described in `main.ts`. */
  description?: string;
  arguments?: readonly Argument[];
  options?: readonly Option[];
  /** Without the program's name. The help of its group shows the first one. */
  examples: readonly [string, ...string[]];
  notes?: string;
  /** Whether it talks, or can talk, to a running service, and so accepts `--url`, `--token` and `--profile`. */
  isRemote?: true;
  /**
   * Takes the flags as declared above, then the arguments, then the command. A method, so that its parameters may be
   * narrower.
   * @throws Misuse when flags contradict each other
   */
  run(flags: object, ...args: readonly unknown[]): Promise<void>;
};

export type Verbs = Readonly<Record<string, Verb>>;

/** Verbs that all talk to a running service. */
export function remote(verbs: Verbs): Verbs {
  const isRemote = true;
  return Object.fromEntries(Object.entries(verbs).map(([name, verb]) => [name, { ...verb, isRemote }]));
}

export function define(command: Command, verb: Verb): Command {
  const { description, options = [], examples, notes, isRemote, run } = verb;
  if (description !== undefined) command.description(description);
  for (const each of verb.arguments ?? []) command.addArgument(each);
  for (const each of [...options, ...(isRemote ? apiOptions() : [])]) command.addOption(each);
  for (const text of [notes, isRemote && API_NOTE]) if (text) command.addHelpText('after', `\n${text}`);
  return command.configureHelp(examplesFirst(...examples)).action(async (...given) => {
    // Commander passes the arguments, the flags and the command.
    const [flags, command] = given.slice(-2);
    try {
      refuseMissing(command.options, flags);
      await run(flags, ...given.slice(0, -2), command);
    } catch (error) {
      if (!(error instanceof Misuse)) throw error;
      command.error(`error: ${error.message}`, { exitCode: 2 });
    }
  });
}

/** Runs after Commander has reported unknown options: in `share add --ownr ann` the name is wrong, not missing. */
function refuseMissing(options: readonly DeclaredOption[], flags: Readonly<Record<string, unknown>>): void {
  const missing = options.find((each) => each.isRequired && flags[each.attributeName()] === undefined);
  if (missing) throw new Misuse(`required option '${missing.flags}' not specified`);
}

/** The only values of an option, or the elements of a list with commas. */
export type FixedValues = { choices: readonly string[]; isList?: true };

export type DeclaredOption = Option & {
  /** Of an option that checks fixed values itself. The shell offers them. */
  values?: FixedValues | undefined;
  isRequired?: true;
};

/** @param parse throws `InvalidArgumentError`; without it the value is a string */
export function option<T>(
  flags: string,
  description: string,
  parse?: (text: string, before: T) => T,
  values?: FixedValues,
): DeclaredOption {
  const made = Object.assign(new Option(flags, description), { values });
  return parse ? made.argParser(parse) : made;
}

export function required<T>(flags: string, description: string, parse?: (text: string) => T): Option {
  return Object.assign(option(flags, description, parse), { isRequired: true });
}

/** @param parse as for `option` */
export function argument<T>(
  name: string,
  description: string,
  parse?: (text: string, before: T) => T,
): Argument {
  const made = new Argument(name, description);
  return parse ? made.argParser(parse) : made;
}

/** For an argument or option value that breaks the rule. */
export function refuseValue(rule: string): never {
  throw new InvalidArgumentError(`It must be ${rule}.`);
}

/** Returns a parser that accepts text unchanged. The message is for any other. */
export function accept(isValid: (text: string) => boolean, message: string) {
  return (text: string): string => {
    if (isValid(text)) return text;
    throw new InvalidArgumentError(message);
  };
}

/** Returns a parser of an integer from 1, at most 999 999 999. */
export function parseUpTo(most: number, rule = `an integer from 1 to ${most}`) {
  return (text: string): number => {
    const value = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN;
    return value <= most ? value : refuseValue(rule);
  };
}

/** Parses the id of a plant. */
export function parseId(text: string): PlantId {
  return canonicalId(text) ?? refuseValue(Id.description);
}

/** The ids in examples. */
export const WEBHOOK = 'wh_01k9f3zv7h8q2m5x4c6d0n1r8t';
export const EVENT = 'evt_01m7xzsn3sskhbnh27akn17wp9';
export const TOKEN = 'tok_01k0c3t2v4x5y6z7a8b9c0d1e2';

export const webhookId = (name = '<id>') => idArgument(name, 'wh', 'webhook list');
/** The id of a token, not the token itself. */
export const tokenId = () => idArgument('<id>', 'tok', 'token list');
export const eventId = () => idArgument('<event>', 'evt', 'delivery list');

function idArgument(name: string, prefix: string, shownBy: string): Argument {
  const shape = new RegExp(`^${prefix}_[0-9a-z]+$`);
  return argument(
    name,
    `the id that ${shownBy} shows: ${prefix}_…`,
    accept((text) => shape.test(text), `Pass the id (${prefix}_…) that ${shownBy} shows.`),
  );
}

/** For a file or folder: `-` would mean a stream. */
export function parseFile(text: string): string {
  if (text === '') return refuseValue('a name');
  return text === '-' ? refuseValue('a name, and - is not one; for a file of that name: ./-') : text;
}

/** The flag of a setting, with the description from the table of settings. */
export function settingOption(name: SettingName): Option {
  const { flag, description, env, defaultText, choices } = settings[name];
  if (flag === undefined) throw new Error(`${env} has no flag`);
  const otherwise = defaultText === undefined ? '' : `, default: ${defaultText}`;
  return option(
    flag,
    `${description} (${env}${otherwise})`,
    /<(?:file|folder)>$/.test(flag) ? (text) => text && parseFile(text) : undefined,
    choices && { choices },
  );
}

export function settingOptions(): Option[] {
  // `settings` has exactly these keys.
  const names = Object.keys(settings) as SettingName[];
  return names.filter((name) => settings[name].flag !== undefined).map(settingOption);
}

function apiOptions(): Option[] {
  return [
    option('--url <url>', `the service's URL (PLANT_STORE_URL, default: ${DEFAULT_URL})`),
    option('--token <token>', 'the token to use (PLANT_STORE_TOKEN)'),
    profileOption('use the URL and token that login saved'),
  ];
}

const API_NOTE = `Save the token with "plant-store login", or set PLANT_STORE_TOKEN, rather than pass --token: every user of the
machine can read a command line.`;

export function profileOption(description: string): Option {
  return option(
    '--profile <name>',
    `${description} (PLANT_STORE_PROFILE, default: ${DEFAULT_PROFILE})`,
    accept(isProfileName, `A profile name has ${profileNameRule}.`),
  );
}

const SECTION = /^(?:Arguments|Options|Global Options|Commands):$/m;

/** For `configureHelp`: puts examples before everything else. */
export function examplesFirst(...lines: readonly string[]) {
  return {
    showGlobalOptions: true,
    // Every verb understands --version, but it is not an option of the verb.
    visibleGlobalOptions: (command: Command) => (command.parent ? optionsFrom(command.parent) : []),
    formatHelp(command: Command, helper: Help) {
      const help = Help.prototype.formatHelp.call(helper, command, helper);
      const at = help.search(SECTION);
      const examples = lines.map((line) => `  $ plant-store ${line}\n`).join('');
      return `${help.slice(0, at)}Examples:\n${examples}\n${help.slice(at)}`;
    },
  };
}

function optionsFrom(command: Command): Option[] {
  const own = command.options.filter(({ long }) => long !== '--version');
  return command.parent ? [...own, ...optionsFrom(command.parent)] : own;
}
