import type { ShareOutcome } from '../../access/port.ts';
import { addShare, sharesBetween } from '../../access/shares.ts';
import { access } from '../../limits.ts';
import { Failure, Misuse } from '../failure.ts';
import { type StoreFlags, withStore } from '../service/store.ts';
import { renderTable } from '../terminal/table.ts';
import { print, printJson, say } from '../terminal/terminal.ts';
import { isoTime } from '../terminal/time.ts';
import { option, required, settingOption, type Verbs } from '../verb.ts';
import { missingUser, refuseUnknownUsers } from './user.ts';

export const examples = [
  'share add --owner ann --viewer bob',
  'share list',
  'share remove --owner ann --viewer bob',
];

type ShareFlags = StoreFlags & { owner: string; viewer: string };
type ListFlags = StoreFlags & { owner?: string; viewer?: string; json?: true };

const both = () => [
  required('--owner <name>', 'whose plants they are'),
  required('--viewer <name>', 'who may read them'),
  settingOption('dataDir'),
];

export const verbs: Verbs = {
  add: {
    description: 'let a user read all plants of another, those that come later included',
    options: both(),
    examples: ['share add --owner ann --viewer bob'],
    async run(flags: ShareFlags) {
      say(sharedInWords(await withStore(flags, (parts) => addShare(parts, flags)), flags));
    },
  },
  list: {
    description: 'list who may read whose plants, by owner',
    options: [
      option('--owner <name>', 'only the shares of this owner'),
      option('--viewer <name>', 'only the shares of this viewer'),
      option('--json', 'print a JSON array of {owner, viewer, createdAt}'),
      settingOption('dataDir'),
    ],
    examples: ['share list', 'share list --viewer bob', `share list --json | jq -r '.[].viewer'`],
    async run({ owner, viewer, json, ...flags }: ListFlags) {
      const stored = await withStore(flags, async (parts) => {
        await refuseUnknownUsers(parts.store, owner, viewer);
        return sharesBetween(parts, { owner, viewer });
      });
      const shares = stored.map((share) => ({ ...share, createdAt: isoTime(share.createdAt) }));
      if (json) return printJson(shares);
      if (shares.length === 0) return say('There are no shares.');
      const rows = shares.map((share) => [share.owner, share.viewer, share.createdAt]);
      print(...renderTable(['OWNER', 'VIEWER', 'SINCE'], rows));
    },
  },
  remove: {
    description:
      'let a user no longer read the plants of another; a running service heeds it at once, on PostgreSQL each replica within 5 s',
    options: both(),
    examples: ['share remove --owner ann --viewer bob'],
    async run({ owner, viewer, ...flags }: ShareFlags) {
      const isRemoved = await withStore(flags, ({ store }) => store.removeShare({ owner, viewer }));
      if (!isRemoved) {
        throw new Failure(
          `There is no share of "${owner}" with "${viewer}". To see those there are: plant-store share list`,
        );
      }
      say(`The user "${viewer}" no longer reads the plants of "${owner}".`);
    },
  },
};

/** Throws when nothing was shared. */
function sharedInWords(outcome: ShareOutcome | 'same user', { owner, viewer }: ShareFlags): string {
  const most = access.sharesPerUser;
  switch (outcome) {
    case 'same user':
      throw new Misuse('a user reads their own plants anyway; --viewer names another user');
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
