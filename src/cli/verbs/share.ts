import type { ShareOutcome } from '../../access/port.ts';
import { access } from '../../limits.ts';
import { Failure, Misuse } from '../failure.ts';
import { onStore, type StoreFlags, withStore } from '../service/store.ts';
import { renderTable } from '../terminal/table.ts';
import { print, printJson, say } from '../terminal/terminal.ts';
import { isoTime } from '../terminal/time.ts';
import { option, required, settingOption, type Verbs } from '../verb.ts';
import { missingUser, refuseUnknownUsers } from './user.ts';

type ShareFlags = StoreFlags & { owner: string; viewer: string };
type ListFlags = StoreFlags & { owner?: string; viewer?: string; json?: true };

const both = () => [
  required('--owner <name>', 'the owner of the plants'),
  required('--viewer <name>', 'the user who may read them'),
  settingOption('dataDir'),
];

export const verbs: Verbs = {
  add: {
    description: "let a user read all of another user's plants, including future ones",
    options: both(),
    examples: ['share add --owner ann --viewer bob'],
    async run(flags: ShareFlags) {
      const { owner, viewer } = flags;
      const outcome = await withStore(flags, ({ store, runtime }) =>
        store.addShare({ owner, viewer, at: runtime.clock.now() }, access.sharesPerUser),
      );
      say(sharedInWords(outcome, flags));
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
      const stored = await withStore(flags, async ({ store }) => {
        await refuseUnknownUsers(store, flags, owner, viewer);
        return store.shares();
      });
      const shares = stored
        .filter(
          (share) => (owner ?? share.owner) === share.owner && (viewer ?? share.viewer) === share.viewer,
        )
        .map((share) => ({ ...share, createdAt: isoTime(share.createdAt) }));
      if (json) return printJson(shares);
      if (shares.length === 0) return say('No shares found.');
      const rows = shares.map((share) => [share.owner, share.viewer, share.createdAt]);
      print(renderTable(['OWNER', 'VIEWER', 'SINCE'], rows));
    },
  },
  remove: {
    description:
      'stop sharing plants with a user; takes effect at once in a running service, on PostgreSQL within 5 s on each replica',
    options: both(),
    examples: ['share remove --owner ann --viewer bob'],
    async run({ owner, viewer, ...flags }: ShareFlags) {
      const isRemoved = await withStore(flags, ({ store }) => store.removeShare({ owner, viewer }));
      if (!isRemoved) {
        throw new Failure(
          `There is no share of "${owner}" with "${viewer}". To list shares: plant-store share list${onStore(flags)}`,
        );
      }
      say(`The user "${viewer}" can no longer read the plants of "${owner}".`);
    },
  },
};

/** Throws when the share could not be added. */
function sharedInWords(outcome: ShareOutcome, { owner, viewer, ...flags }: ShareFlags): string {
  const most = access.sharesPerUser;
  switch (outcome) {
    case 'shared':
      return `The user "${viewer}" can now read the plants of "${owner}".`;
    case 'shared before':
      return `The user "${viewer}" could already read the plants of "${owner}".`;
    case 'same user':
      throw new Misuse('users can always read their own plants; pass another user as --viewer');
    case 'no owner':
      throw missingUser(owner, flags);
    case 'no viewer':
      throw missingUser(viewer, flags);
    case 'owner full':
      throw new Failure(`The user "${owner}" already shares with ${most} users, the maximum.`);
    case 'viewer full':
      throw new Failure(`${most} users, the maximum, already share with "${viewer}".`);
  }
}
