import type { Command } from 'commander';
import { examples } from './examples.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { renderTable } from './table.ts';
import { print, say } from './terminal.ts';
import { isoTime } from './time.ts';

/** `user list` */
export function userList(user: Command): void {
  user
    .command('list')
    .description('list the users, by name')
    .option('--json', 'print a JSON array of {id, name, createdAt}')
    .addOption(settingOption('dataDir'))
    .addHelpText('after', examples('user list', "user list --json | jq -r '.[].name'"))
    .action(run);
}

async function run(flags: StoreFlags & { json?: true }): Promise<void> {
  const stored = await withStore(flags, ({ store }) => store.users());
  const users = stored.map(({ id, name, createdAt }) => ({ id, name, createdAt: isoTime(createdAt) }));
  if (flags.json) return print(JSON.stringify(users, null, 2));
  if (users.length === 0) return say('There are no users.');
  const rows = users.map(({ name, createdAt }) => [name, createdAt]);
  print(renderTable(['NAME', 'CREATED'], rows, process.stdout));
}
