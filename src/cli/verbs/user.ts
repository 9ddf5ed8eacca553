import { setTimeout as pause } from 'node:timers/promises';
import type { Argument } from 'commander';
import { ADMIN } from '../../access/bootstrap.ts';
import type { AccessStore, Belongings, User } from '../../access/port.ts';
import { isUserName, userNameRule } from '../../access/users.ts';
import { chores as bounds } from '../../limits.ts';
import { Failure } from '../failure.ts';
import { onStore, type StoreFlags, type StoreParts, withStore } from '../service/store.ts';
import { showProgress } from '../terminal/progress.ts';
import { ask, refuseWithoutTerminal } from '../terminal/question.ts';
import { renderTable } from '../terminal/table.ts';
import { insist, print, printJson, say, shellWord } from '../terminal/terminal.ts';
import { isoTime } from '../terminal/time.ts';
import { accept, argument, option, settingOption, type Verbs } from '../verb.ts';

const userName = (): Argument => argument('<name>', 'the name that user list shows');

export const verbs: Verbs = {
  create: {
    description: 'create a user',
    arguments: [
      argument(
        '<name>',
        `a unique name: ${userNameRule}`,
        accept(isUserName, `A user name has ${userNameRule}.`),
      ),
    ],
    options: [settingOption('dataDir')],
    examples: ['user create ann', "user create 'Ann Example' --data-dir /srv/plants"],
    async run(flags: StoreFlags, name: string) {
      const user = await withStore(flags, ({ store, runtime }) =>
        store.createUser({ name, at: runtime.clock.now() }),
      );
      if (user === undefined) throw new Failure(`The user "${name}" already exists.`);
      const next = `plant-store token create --user ${shellWord(name)}${onStore(flags)}`;
      say(`Created the user "${name}". To create a token: ${next}`);
    },
  },
  list: {
    description: 'list users by name',
    options: [
      option('--json', 'print a JSON array of {id, name, createdAt, disabledAt}; disabledAt may be null'),
      settingOption('dataDir'),
    ],
    examples: ['user list', `user list --json | jq -r '.[] | select(.disabledAt != null) | .name'`],
    async run(flags: StoreFlags & { json?: true }) {
      const users = (await withStore(flags, ({ store }) => store.users())).map(describe);
      if (flags.json) return printJson(users);
      if (users.length === 0) return say('No users found.');
      const rows = users.map(({ name, createdAt, disabledAt }) => [
        name,
        disabledAt === null ? 'enabled' : 'disabled',
        createdAt,
      ]);
      print(renderTable(['NAME', 'STATUS', 'CREATED'], rows));
    },
  },
  disable: {
    description: "refuse a user's tokens and hold their webhooks' deliveries until user enable",
    arguments: [userName()],
    options: [settingOption('dataDir')],
    examples: ['user disable ann'],
    async run(flags: StoreFlags, name: string) {
      const isChanged = await setDisabled(flags, name, true);
      const undo = userCommand('enable', name, flags);
      say(
        isChanged
          ? `Disabled the user "${name}". Their tokens are refused and their deliveries are held until: ${undo}`
          : `The user "${name}" was already disabled. To enable: ${undo}`,
      );
    },
  },
  enable: {
    description: "accept a disabled user's tokens again and send their held deliveries",
    arguments: [userName()],
    options: [settingOption('dataDir')],
    examples: ['user enable ann'],
    async run(flags: StoreFlags, name: string) {
      say(
        (await setDisabled(flags, name, false))
          ? `Enabled the user "${name}". Their tokens are accepted again and their held deliveries are sent.`
          : `The user "${name}" was already enabled.`,
      );
    },
  },
  delete: {
    description: 'delete a user with their plants, events, webhooks, tokens and shares, after confirmation',
    arguments: [userName()],
    options: [option('--yes', 'do not ask'), settingOption('dataDir')],
    examples: ['user delete ann', 'user delete ann --yes'],
    async run(flags: StoreFlags & { yes?: true }, name: string) {
      if (!flags.yes) refuseWithoutTerminal();
      const belongings = await withStore(flags, ({ store }) => store.belongings(name));
      if (belongings === undefined) throw unknownUser(name, flags);
      if (!flags.yes) await confirm(name, belongings);
      const now = await withStore(flags, async ({ store, runtime }) => {
        const at = runtime.clock.now();
        if (!(await store.deleteUser(name, at))) throw unknownUser(name, flags);
        return at;
      });
      await removeRest(flags, now);
      say(`Deleted the user "${name}" and everything they had (${counts(belongings)}).`);
    },
  },
};

/** To paste into a shell. */
export function userCommand(verb: 'create' | 'enable', name: string, flags: StoreFlags): string {
  const start = `plant-store user ${verb}`;
  // Not an option.
  if (name.startsWith('-')) return `${start}${onStore(flags)} -- ${shellWord(name)}`;
  return `${start} ${shellWord(name)}${onStore(flags)}`;
}

/** For verbs where creating the user helps. */
export function missingUser(name: string, flags: StoreFlags): Failure {
  return new Failure(`There is no user "${name}". To create it: ${userCommand('create', name, flags)}`);
}

/** Throws a `Failure` for an unknown user: an empty list would hide a typing error. */
export async function refuseUnknownUsers(
  store: AccessStore,
  flags: StoreFlags,
  ...names: readonly (string | undefined)[]
): Promise<void> {
  for (const name of names) {
    if (name !== undefined && (await store.user(name)) === undefined) throw unknownUser(name, flags);
  }
}

function unknownUser(name: string, flags: StoreFlags): Failure {
  return new Failure(`There is no user "${name}". To list users: plant-store user list${onStore(flags)}`);
}

function describe({ id, name, createdAt, disabledAt }: User) {
  return {
    id,
    name,
    createdAt: isoTime(createdAt),
    disabledAt: disabledAt === undefined ? null : isoTime(disabledAt),
  };
}

/** Returns whether anything changed. */
async function setDisabled(flags: StoreFlags, name: string, isDisabled: boolean): Promise<boolean> {
  const outcome = await withStore(flags, ({ store, runtime }) =>
    store.setUserDisabled(name, isDisabled, runtime.clock.now()),
  );
  if (outcome === 'no user') throw unknownUser(name, flags);
  return outcome === 'changed';
}

/** Throws a `Failure` unless the person types the name: one letter is too little for something irreversible. */
async function confirm(name: string, belongings: Belongings): Promise<void> {
  insist(
    `This permanently deletes the user "${name}" with all they have (${counts(belongings)}), their`,
    'events and their waiting deliveries. "user disable" keeps everything instead.',
  );
  if (name === ADMIN) {
    insist(
      `A start with BOOTSTRAP_TOKEN, or with a store without tokens, creates "${ADMIN}" again, without plants.`,
    );
  }
  if ((await ask("Type the user's name to confirm: ")) !== name) throw new Failure('Nothing was deleted.');
}

function counts({ plants, webhooks, tokens, shares }: Belongings): string {
  return `plants: ${plants}, webhooks: ${webhooks}, tokens: ${tokens}, shares: ${shares}`;
}

/** A removal with more slices gets a progress line. */
const LONG = 20;

/**
 * After this many slices the store is opened again: only closing it copies the write-ahead log of the embedded store into
 * the database, and until then the log grows, finally to several times the size of the data.
 */
const TOGETHER = 100;

/**
 * Removes what is left of deleted users. A running service does this too, but none may be running.
 * @param now chores that fall due later are left to the service
 */
async function removeRest(flags: StoreFlags, now: number): Promise<void> {
  const progress = showProgress('Removing their plants and events');
  let slices = 0;

  /** Returns whether anything is left. */
  async function removeSome({ chores }: StoreParts): Promise<boolean> {
    const end = slices + TOGETHER;
    while (slices < end && (await chores.hasChores(now))) {
      slices++;
      if (slices === LONG) {
        say(
          'The user is already gone. Removing the rest takes a while; Ctrl+C leaves it to a running service or the next start.',
        );
      }
      if (slices >= LONG) progress.update();
      const hasMoved = await chores.advance({ now, limit: bounds.slice });
      await pause(hasMoved ? bounds.pauseMs : bounds.pollMs);
    }
    return slices === end;
  }

  while (await withStore(flags, removeSome));
  progress.end();
}
