import { type Command, InvalidArgumentError } from 'commander';
import { createUser, isUserName, userNameRule } from '../access/users.ts';
import { examplesFirst } from './examples.ts';
import { Failure } from './failure.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { say, shellWord } from './terminal.ts';

/** `user create NAME` */
export function userCreate(user: Command): void {
  user
    .command('create')
    .description('make a user')
    .argument('<name>', `a name that no other user has: ${userNameRule}`, parseName)
    .addOption(settingOption('dataDir'))
    .configureHelp(examplesFirst('user create ann', "user create 'Ann Example' --data-dir /srv/plants"))
    .action(run);
}

async function run(name: string, flags: StoreFlags): Promise<void> {
  await withStore(flags, async (parts) => {
    if (!(await createUser(parts, name))) throw new Failure(`There is a user "${name}" already.`);
  });
  say(`Made the user "${name}". A token for it: plant-store token create --user ${shellWord(name)}`);
}

function parseName(text: string): string {
  if (isUserName(text)) return text;
  throw new InvalidArgumentError(`A user name has ${userNameRule}.`);
}
