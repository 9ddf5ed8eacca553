import type { Command } from 'commander';
import type { AccessStore } from '../access/port.ts';
import { sharesBetween } from '../access/shares.ts';
import { examplesFirst } from './examples.ts';
import { isUser, unknownUser } from './missing-user.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { renderTable } from './table.ts';
import { print, printJson, say } from './terminal.ts';
import { isoTime } from './time.ts';

/** `share list` */
export function shareList(share: Command): void {
  share
    .command('list')
    .description('list who may read whose plants, by owner')
    .option('--owner <name>', 'only the shares of this owner')
    .option('--viewer <name>', 'only the shares of this viewer')
    .option('--json', 'print a JSON array of {owner, viewer, createdAt}')
    .addOption(settingOption('dataDir'))
    .configureHelp(
      examplesFirst('share list', 'share list --viewer bob', `share list --json | jq -r '.[].viewer'`),
    )
    .action(run);
}

type ListFlags = StoreFlags & { owner?: string; viewer?: string; json?: true };

async function run(flags: ListFlags): Promise<void> {
  const { owner, viewer } = flags;
  const stored = await withStore(flags, async (parts) => {
    await refuseUnknown(parts.store, [owner, viewer]);
    return sharesBetween(parts, { owner, viewer });
  });
  const shares = stored.map((share) => ({ ...share, createdAt: isoTime(share.createdAt) }));
  if (flags.json) return printJson(shares);
  if (shares.length === 0) return say('There are no shares.');
  const rows = shares.map((share) => [share.owner, share.viewer, share.createdAt]);
  print(...renderTable(['OWNER', 'VIEWER', 'SINCE'], rows));
}

/** An empty list would let a mistyped name pass for one without shares. */
async function refuseUnknown(store: AccessStore, names: readonly (string | undefined)[]): Promise<void> {
  for (const name of names) {
    if (name !== undefined && !(await isUser(store, name))) throw unknownUser(name);
  }
}
