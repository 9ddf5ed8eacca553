import { Argument, type Command, Help, InvalidArgumentError, Option } from 'commander';
import { type SettingName, settings } from '../config/settings.ts';
import { API_NOTE, apiOptions } from './api-options.ts';
import { Misuse } from './failure.ts';

/** A verb: what its help says, and what it does. */
export type Verb = {
  /** In the list of its noun's verbs. A verb without a noun is described where the program lists it. */
  description?: string;
  arguments?: readonly Argument[];
  options?: readonly Option[];
  /** Without the name of the program. */
  examples: readonly string[];
  /** Stands behind the options. */
  notes?: string;
  /** Whether it talks to a running service: then it also takes `--url`, `--token` and `--profile`. */
  isRemote?: true;
  /**
   * The flags come as they are declared above, and so do the arguments, with the command behind them. A method, so that
   * its parameters may be narrower.
   *
   * @throws Misuse when the flags do not go together
   */
  run(flags: object, ...args: readonly unknown[]): Promise<void>;
};

/** The verbs of a noun, by name, in the order of its help. */
export type Verbs = Readonly<Record<string, Verb>>;

/** Makes the command do what the verb says. */
export function define(command: Command, verb: Verb): Command {
  const { description, options = [], examples, notes, isRemote, run } = verb;
  if (description !== undefined) command.description(description);
  for (const each of verb.arguments ?? []) command.addArgument(each);
  for (const each of [...options, ...(isRemote ? apiOptions() : [])]) command.addOption(each);
  for (const text of [notes, isRemote && API_NOTE]) if (text) command.addHelpText('after', `\n${text}`);
  return command.configureHelp(examplesFirst(...examples)).action(async (...given) => {
    // Commander gives the arguments, the flags, and the command.
    const [flags, command] = given.slice(-2);
    try {
      await run(flags, ...given.slice(0, -2), command);
    } catch (error) {
      if (!(error instanceof Misuse)) throw error;
      command.error(`error: ${error.message}`, { exitCode: 2 });
    }
  });
}

/** @param parse throws `InvalidArgumentError`; without it the value is a text */
export function option<T>(
  flags: string,
  description: string,
  parse?: (text: string, before: T) => T,
): Option {
  const made = new Option(flags, description);
  return parse ? made.argParser(parse) : made;
}

/** An option that must be given. */
export function required<T>(flags: string, description: string, parse?: (text: string) => T): Option {
  return option(flags, description, parse).makeOptionMandatory();
}

/** @param parse as that of an option */
export function argument<T>(
  name: string,
  description: string,
  parse?: (text: string, before: T) => T,
): Argument {
  const made = new Argument(name, description);
  return parse ? made.argParser(parse) : made;
}

/** For the value of an argument or option that is not what the rule says. */
export function refuseValue(rule: string): never {
  throw new InvalidArgumentError(`It must be ${rule}.`);
}

/** The flag of a setting, described as the table of settings describes it. */
export function settingOption(name: SettingName): Option {
  const { flag, description, env, defaultText } = settings[name];
  if (flag === undefined) throw new Error(`${env} has no flag`);
  const otherwise = defaultText === undefined ? '' : `, default: ${defaultText}`;
  return new Option(flag, `${description} (${env}${otherwise})`);
}

/** The flag of every setting that has one. */
export function settingOptions(): Option[] {
  // `settings` has exactly these keys.
  const names = Object.keys(settings) as SettingName[];
  return names.filter((name) => settings[name].flag !== undefined).map(settingOption);
}

const SECTION = /^(?:Arguments|Options|Global Options|Commands):$/m;

/** The help of a verb, with examples before anything that has to be read. For `configureHelp`. */
export function examplesFirst(...lines: readonly string[]) {
  return {
    showGlobalOptions: true,
    // What prints the version is no option of a verb, although it is understood there.
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
