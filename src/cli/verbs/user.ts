import { setTimeout as pause } from 'node:timers/promises';
import { type Argument, InvalidArgumentError } from 'commander';
import { ADMIN } from '../../access/bootstrap.ts';
import type { AccessStore, Belongings, User } from '../../access/port.ts';
import { createUser, deleteUser, isUserName, setUserDisabled, userNameRule } from '../../access/users.ts';
import { chores as bounds } from '../../limits.ts';
import { Failure } from '../failure.ts';
import { type StoreFlags, type StoreParts, withStore } from '../service/store.ts';
import { showProgress } from '../terminal/progress.ts';
import { ask, refuseWithoutTerminal } from '../terminal/question.ts';
import { renderTable } from '../terminal/table.ts';
import { insist, print, printJson, say, shellWord } from '../terminal/terminal.ts';
import { isoTime } from '../terminal/time.ts';
import { argument, option, settingOption, type Verbs } from '../verb.ts';

export const examples = ['user create ann', 'user list', 'user disable ann'];

const userName = (): Argument => argument('<name>', 'the name that user list shows');

export const verbs: Verbs = {
  create: {
    description: 'make a user',
    arguments: [argument('<name>', `a name that no other user has: ${userNameRule}`, parseName)],
    options: [settingOption('dataDir')],
    examples: ['user create ann', "user create 'Ann Example' --data-dir /srv/plants"],
    async run(flags: StoreFlags, name: string) {
      await withStore(flags, async (parts) => {
        if (!(await createUser(parts, name))) throw new Failure(`There is a user "${name}" already.`);
      });
      say(`Made the user "${name}". A token for it: plant-store token create --user ${shellWord(name)}`);
    },
  },
  list: {
    description: 'list the users, by name',
    options: [
      option('--json', 'print a JSON array of {id, name, createdAt, disabledAt}; the last may be null'),
      settingOption('dataDir'),
    ],
    examples: ['user list', `user list --json | jq -r '.[] | select(.disabledAt != null) | .name'`],
    async run(flags: StoreFlags & { json?: true }) {
      const users = (await withStore(flags, ({ store }) => store.users())).map(describe);
      if (flags.json) return printJson(users);
      if (users.length === 0) return say('There are no users.');
      const rows = users.map(({ name, createdAt, disabledAt }) => [
        name,
        disabledAt === null ? 'enabled' : 'disabled',
        createdAt,
      ]);
      print(...renderTable(['NAME', 'STATUS', 'CREATED'], rows));
    },
  },
  disable: {
    description: 'refuse all tokens of a user and hold what their webhooks would send, until user enable',
    arguments: [userName()],
    options: [settingOption('dataDir')],
    examples: ['user disable ann'],
    async run(flags: StoreFlags, name: string) {
      const isChanged = await setDisabled(flags, name, true);
      const undo = `plant-store user enable ${shellWord(name)}`;
      say(
        isChanged
          ? `Disabled the user "${name}". Their tokens are refused, and their webhooks hold what comes, until: ${undo}`
          : `The user "${name}" was disabled before. To change it: ${undo}`,
      );
    },
  },
  enable: {
    description: "take a disabled user's tokens again and send what their webhooks held",
    arguments: [userName()],
    options: [settingOption('dataDir')],
    examples: ['user enable ann'],
    async run(flags: StoreFlags, name: string) {
      say(
        (await setDisabled(flags, name, false))
          ? `Enabled the user "${name}". Their tokens are taken again, and their webhooks send what they held.`
          : `The user "${name}" was enabled before.`,
      );
    },
  },
  delete: {
    description: 'delete a user with their plants, events, webhooks, tokens and shares; asks first',
    arguments: [userName()],
    options: [option('--yes', 'do not ask'), settingOption('dataDir')],
    examples: ['user delete ann', 'user delete ann --yes'],
    async run(flags: StoreFlags & { yes?: true }, name: string) {
      if (!flags.yes) refuseWithoutTerminal();
      const belongings = await withStore(flags, ({ store }) => store.belongings(name));
      if (belongings === undefined) throw unknownUser(name);
      if (!flags.yes) await confirm(name, belongings);
      await withStore(flags, async (parts) => {
        if (!(await deleteUser(parts, name))) throw unknownUser(name);
        await removeRest(parts);
      });
      say(`Deleted the user "${name}" and what they had (${counts(belongings)}).`);
    },
  },
};

/** Where a user is needed who can be made. */
export function missingUser(name: string): Failure {
  return new Failure(`There is no user "${name}". Make it with: plant-store user create ${shellWord(name)}`);
}

/** Throws a `Failure` for a name that is given and that no user has: an empty list would hide that it is mistyped. */
export async function refuseUnknownUsers(
  store: AccessStore,
  ...names: readonly (string | undefined)[]
): Promise<void> {
  for (const name of names) {
    if (name !== undefined && (await store.user(name)) === undefined) throw unknownUser(name);
  }
}

function unknownUser(name: string): Failure {
  return new Failure(`There is no user "${name}". To see those there are: plant-store user list`);
}

function describe({ id, name, createdAt, disabledAt }: User) {
  return {
    id,
    name,
    createdAt: isoTime(createdAt),
    disabledAt: disabledAt === undefined ? null : isoTime(disabledAt),
  };
}

/** Whether that changed anything. */
async function setDisabled(flags: StoreFlags, name: string, isDisabled: boolean): Promise<boolean> {
  const outcome = await withStore(flags, (parts) => setUserDisabled(parts, name, isDisabled));
  if (outcome === 'no user') throw unknownUser(name);
  return outcome === 'changed';
}

/** Throws a `Failure` unless the person types the name: one letter is typed too easily for what cannot be undone. */
async function confirm(name: string, belongings: Belongings): Promise<void> {
  insist(
    `The user "${name}" goes for good, with all they have (${counts(belongings)}), the record of their`,
    'events, and the deliveries that their webhooks wait to make. "user disable" keeps everything instead.',
  );
  if (name === ADMIN) {
    insist(
      `A start with BOOTSTRAP_TOKEN, and one of a store without any token, makes "${ADMIN}" again, without plants.`,
    );
  }
  if ((await ask('Type the name of the user to delete it: ')) !== name)
    throw new Failure('Nothing was deleted.');
}

function counts({ plants, webhooks, tokens, shares }: Belongings): string {
  return `plants: ${plants}, webhooks: ${webhooks}, tokens: ${tokens}, shares: ${shares}`;
}

/** Slices after which a removal counts as a long one. */
const LONG = 20;

/**
 * Goes on with the removal until nothing is left. It is what a running service does by itself, but there may be none.
 */
async function removeRest({ chores, runtime }: StoreParts): Promise<void> {
  // What falls due later, for other users, is left to the service.
  const now = runtime.clock.now();
  const progress = showProgress('Removing their plants and events');
  for (let slices = 1; await chores.hasChores(now); slices++) {
    if (slices === LONG) {
      say(
        'The user is gone for everybody. The rest takes a while; Ctrl+C leaves it to a running service or the next start.',
      );
    }
    if (slices >= LONG) progress.update();
    await chores.advance({ now, limit: bounds.slice });
    await pause(bounds.pauseMs);
  }
  progress.end();
}

function parseName(text: string): string {
  if (isUserName(text)) return text;
  throw new InvalidArgumentError(`A user name has ${userNameRule}.`);
}
