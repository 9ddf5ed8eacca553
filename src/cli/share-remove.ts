import type { Command } from 'commander';
import { examplesFirst } from './examples.ts';
import { Failure } from './failure.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { say } from './terminal.ts';

/** `share remove --owner NAME --viewer NAME` */
export function shareRemove(share: Command): void {
  share
    .command('remove')
    .description(
      'let a user no longer read the plants of another; a running service heeds it at once, on PostgreSQL each replica within 5 s',
    )
    .requiredOption('--owner <name>', 'whose plants they are')
    .requiredOption('--viewer <name>', 'who may read them')
    .addOption(settingOption('dataDir'))
    .configureHelp(examplesFirst('share remove --owner ann --viewer bob'))
    .action(run);
}

async function run(flags: StoreFlags & { owner: string; viewer: string }): Promise<void> {
  const { owner, viewer } = flags;
  const removed = await withStore(flags, ({ store }) => store.removeShare({ owner, viewer }));
  if (!removed) {
    throw new Failure(
      `There is no share of "${owner}" with "${viewer}". To see those there are: plant-store share list`,
    );
  }
  say(`The user "${viewer}" no longer reads the plants of "${owner}".`);
}
