import type { Command } from 'commander';
import { setUserDisabled } from '../access/users.ts';
import { examplesFirst } from './examples.ts';
import { unknownUser } from './missing-user.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { say } from './terminal.ts';

/** `user enable NAME` */
export function userEnable(user: Command): void {
  user
    .command('enable')
    .description("take a disabled user's tokens again and send what their webhooks held")
    .argument('<name>', 'the name that user list shows')
    .addOption(settingOption('dataDir'))
    .configureHelp(examplesFirst('user enable ann'))
    .action(run);
}

async function run(name: string, flags: StoreFlags): Promise<void> {
  const outcome = await withStore(flags, (parts) => setUserDisabled(parts, name, false));
  if (outcome === 'no user') throw unknownUser(name);
  say(
    outcome === 'changed'
      ? `Enabled the user "${name}". Their tokens are taken again, and their webhooks send what they held.`
      : `The user "${name}" was enabled before.`,
  );
}
