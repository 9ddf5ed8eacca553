import { Argument, type Command } from 'commander';
import { bashCompletion } from './completion-bash.ts';
import { fishCompletion } from './completion-fish.ts';
import { type Verb, verbsOf } from './completion-verbs.ts';
import { zshCompletion } from './completion-zsh.ts';
import { examplesFirst } from './examples.ts';
import { print } from './terminal.ts';

const shells: Readonly<Record<string, (verbs: readonly Verb[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** `completion bash|zsh|fish`. To be called once every verb is there. */
export function completion(command: Command): void {
  command
    .addArgument(new Argument('<shell>', 'the shell that is to learn it').choices(Object.keys(shells)))
    .configureHelp(
      examplesFirst(
        'completion bash > ~/.local/share/bash-completion/completions/plant-store',
        'completion zsh > ~/.zfunc/_plant-store',
        'completion fish > ~/.config/fish/completions/plant-store.fish',
      ),
    )
    .addHelpText(
      'after',
      '\nFor the shell that is open: source <(plant-store completion bash). zsh needs the folder in its fpath before compinit:\n' +
        'fpath+=~/.zfunc. A new version of the program may have more to complete: print it again then.',
    )
    .action((shell: string) => {
      const script = shells[shell];
      if (command.parent && script) print(...script(verbsOf(command.parent)).split('\n'));
    });
}
