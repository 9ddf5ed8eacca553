import type { Command } from 'commander';
import { setUserDisabled } from '../access/users.ts';
import { examplesFirst } from './examples.ts';
import { unknownUser } from './missing-user.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { say, shellWord } from './terminal.ts';

/** `user disable NAME` */
export function userDisable(user: Command): void {
  user
    .command('disable')
    .description('refuse all tokens of a user and hold what their webhooks would send, until user enable')
    .argument('<name>', 'the name that user list shows')
    .addOption(settingOption('dataDir'))
    .configureHelp(examplesFirst('user disable ann'))
    .action(run);
}

async function run(name: string, flags: StoreFlags): Promise<void> {
  const outcome = await withStore(flags, (parts) => setUserDisabled(parts, name, true));
  if (outcome === 'no user') throw unknownUser(name);
  const undo = `plant-store user enable ${shellWord(name)}`;
  say(
    outcome === 'changed'
      ? `Disabled the user "${name}". Their tokens are refused, and their webhooks hold what comes, until: ${undo}`
      : `The user "${name}" was disabled before. To change it: ${undo}`,
  );
}
