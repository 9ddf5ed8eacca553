import { type Command, Help, type HelpConfiguration, type Option } from 'commander';

const SECTION = /^(?:Arguments|Options|Global Options|Commands):$/m;

/** The help of a verb, with examples before anything that has to be read. For `configureHelp`. */
export function examplesFirst(...lines: readonly string[]): HelpConfiguration {
  return {
    showGlobalOptions: true,
    // What prints the version is no option of a verb, although it is understood there.
    visibleGlobalOptions: (command) => (command.parent ? optionsFrom(command.parent) : []),
    formatHelp(command, helper) {
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
