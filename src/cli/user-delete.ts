import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { ADMIN } from '../access/bootstrap.ts';
import type { Belongings } from '../access/port.ts';
import { deleteUser } from '../access/users.ts';
import { chores as bounds } from '../limits.ts';
import { examplesFirst } from './examples.ts';
import { Failure } from './failure.ts';
import { unknownUser } from './missing-user.ts';
import { settingOption } from './options.ts';
import { showProgress } from './progress.ts';
import { ask, refuseWithoutTerminal } from './question.ts';
import { type StoreFlags, type StoreParts, withStore } from './store.ts';
import { insist, say } from './terminal.ts';

/** `user delete NAME` */
export function userDelete(user: Command): void {
  user
    .command('delete')
    .description('delete a user with their plants, events, webhooks, tokens and shares; asks first')
    .argument('<name>', 'the name that user list shows')
    .option('--yes', 'do not ask')
    .addOption(settingOption('dataDir'))
    .configureHelp(examplesFirst('user delete ann', 'user delete ann --yes'))
    .action(run);
}

async function run(name: string, flags: StoreFlags & { yes?: true }, command: Command): Promise<void> {
  if (!flags.yes) refuseWithoutTerminal(command);
  const belongings = await withStore(flags, ({ store }) => store.belongings(name));
  if (belongings === undefined) throw unknownUser(name);
  if (!flags.yes) await confirm(name, belongings);
  await withStore(flags, async (parts) => {
    if (!(await deleteUser(parts, name))) throw unknownUser(name);
    await removeRest(parts);
  });
  say(`Deleted the user "${name}" and what they had (${counts(belongings)}).`);
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
