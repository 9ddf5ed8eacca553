import { Argument, type Command } from 'commander';
import { print } from '../terminal/terminal.ts';
import type { Verb } from '../verb.ts';
import { bashCompletion } from './bash.ts';
import { fishCompletion } from './fish.ts';
import { type KnownVerb, verbsOf } from './verbs.ts';
import { zshCompletion } from './zsh.ts';

const shells: Readonly<Record<string, (verbs: readonly KnownVerb[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

export const verb: Verb = {
  arguments: [new Argument('<shell>', 'the shell to complete for').choices(Object.keys(shells))],
  examples: [
    'completion bash > ~/.local/share/bash-completion/completions/plant-store',
    'completion zsh > ~/.zfunc/_plant-store',
    'completion fish > ~/.config/fish/completions/plant-store.fish',
  ],
  notes: `For the current shell: source <(plant-store completion bash). zsh needs the folder in its fpath before compinit:
fpath+=~/.zfunc. After an update, print the script again: the new version may complete more.`,
  async run(_flags, shell: string, { parent }: Command) {
    const script = shells[shell];
    if (parent && script) print(...script(verbsOf(parent)).split('\n'));
  },
};
