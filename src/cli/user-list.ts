import type { Command } from 'commander';
import type { User } from '../access/port.ts';
import { examplesFirst } from './examples.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { renderTable } from './table.ts';
import { print, printJson, say } from './terminal.ts';
import { isoTime } from './time.ts';

/** `user list` */
export function userList(user: Command): void {
  user
    .command('list')
    .description('list the users, by name')
    .option('--json', 'print a JSON array of {id, name, createdAt, disabledAt}; the last may be null')
    .addOption(settingOption('dataDir'))
    .configureHelp(
      examplesFirst('user list', `user list --json | jq -r '.[] | select(.disabledAt != null) | .name'`),
    )
    .action(run);
}

async function run(flags: StoreFlags & { json?: true }): Promise<void> {
  const users = (await withStore(flags, ({ store }) => store.users())).map(describe);
  if (flags.json) return printJson(users);
  if (users.length === 0) return say('There are no users.');
  const rows = users.map(({ name, createdAt, disabledAt }) => [
    name,
    disabledAt === null ? 'enabled' : 'disabled',
    createdAt,
  ]);
  print(...renderTable(['NAME', 'STATUS', 'CREATED'], rows));
}

function describe({ id, name, createdAt, disabledAt }: User) {
  return {
    id,
    name,
    createdAt: isoTime(createdAt),
    disabledAt: disabledAt === undefined ? null : isoTime(disabledAt),
  };
}
