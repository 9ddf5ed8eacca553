import type { Argument, Command } from 'commander';
import type { DeclaredOption, FixedValues } from '../verb.ts';

/** The values that complete an argument or an option. */
export type Values = FixedValues | 'profile' | 'file' | 'anything';

/** A verb as a shell sees it; also a group of verbs, and the program itself. */
export type KnownVerb = {
  /** Without the program's name, such as `plant list`; empty for the program. */
  path: string;
  below: readonly { name: string; description: string }[];
  options: readonly VerbOption[];
  /** What completes the arguments. */
  values: Values;
};

export type VerbOption = {
  flags: readonly string[];
  description: string;
  /** Undefined for an option without a value. */
  values: Values | undefined;
};

export function verbsOf(command: Command, path = ''): KnownVerb[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command).filter((verb) => verb.name() !== 'help');
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  const verb = {
    path,
    below: below.map((each) => ({ name: each.name(), description: each.description() })),
    options: options.map(optionOf),
    values: command.registeredArguments.map(valuesOf)[0] ?? 'anything',
  };
  return [verb, ...below.flatMap((each) => verbsOf(each, `${path} ${each.name()}`.trim()))];
}

/** The values of each flag, by verb and flag: `plant export --format`. */
export function completedFlags(verbs: readonly KnownVerb[]): { flag: string; values: Values }[] {
  return verbs.flatMap(({ path, options }) =>
    options.flatMap(({ flags, values }) =>
      values === undefined ? [] : flags.map((flag) => ({ flag: `${path} ${flag}`.trim(), values })),
    ),
  );
}

/** The paths of all verbs below the program. */
export function pathsOf(verbs: readonly KnownVerb[]): string[] {
  return verbs.map(({ path }) => path).filter((path) => path !== '');
}

/** Quotes text for bash and zsh. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export const PROFILES = "plant-store login --list 2>/dev/null | awk 'NR > 1 { print $1 }'";

function optionOf(option: DeclaredOption): VerbOption {
  const { short, long, description, required, optional } = option;
  return {
    flags: [short, long].filter((flag) => flag !== undefined),
    description,
    values: required || optional ? valuesOfOption(option) : undefined,
  };
}

function valuesOfOption({ long, flags, argChoices, values }: DeclaredOption): Values {
  if (values) return values;
  if (argChoices) return { choices: argChoices };
  if (long === '--profile') return 'profile';
  return /[<[](?:file|path|folder)[>\]]/.test(flags) ? 'file' : 'anything';
}

function valuesOf(argument: Argument): Values {
  if (argument.argChoices) return { choices: argument.argChoices };
  return /^(?:file|path|folder)$/.test(argument.name()) ? 'file' : 'anything';
}
