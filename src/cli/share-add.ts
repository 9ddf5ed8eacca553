import type { Command } from 'commander';
import type { ShareOutcome } from '../access/port.ts';
import { addShare } from '../access/shares.ts';
import { access } from '../limits.ts';
import { examplesFirst } from './examples.ts';
import { Failure } from './failure.ts';
import { missingUser } from './missing-user.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { say } from './terminal.ts';

/** `share add --owner NAME --viewer NAME` */
export function shareAdd(share: Command): void {
  share
    .command('add')
    .description('let a user read all plants of another, those that come later included')
    .requiredOption('--owner <name>', 'whose plants they are')
    .requiredOption('--viewer <name>', 'who may read them')
    .addOption(settingOption('dataDir'))
    .configureHelp(examplesFirst('share add --owner ann --viewer bob'))
    .action(run);
}

type ShareFlags = StoreFlags & { owner: string; viewer: string };

async function run(flags: ShareFlags, command: Command): Promise<void> {
  const outcome = await withStore(flags, (parts) => addShare(parts, flags));
  if (outcome === 'same user') {
    command.error('error: a user reads their own plants anyway; --viewer names another user', {
      exitCode: 2,
    });
  }
  say(sharedInWords(outcome, flags));
}

/** Throws a `Failure` when nothing was shared. */
function sharedInWords(outcome: ShareOutcome, { owner, viewer }: ShareFlags): string {
  const most = access.sharesPerUser;
  switch (outcome) {
    case 'shared':
      return `The user "${viewer}" reads the plants of "${owner}" from now on.`;
    case 'shared before':
      return `The user "${viewer}" could read the plants of "${owner}" before.`;
    case 'no owner':
      throw missingUser(owner);
    case 'no viewer':
      throw missingUser(viewer);
    case 'owner full':
      throw new Failure(`The user "${owner}" shares with ${most} users already, and more are not possible.`);
    case 'viewer full':
      throw new Failure(`${most} users share with "${viewer}" already, and more are not possible.`);
  }
}
