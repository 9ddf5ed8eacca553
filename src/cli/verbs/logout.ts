import { profileNameOf, profileOption } from '../api-options.ts';
import { Failure } from '../failure.ts';
import { changeProfiles } from '../profiles.ts';
import { say } from '../terminal/terminal.ts';
import type { Verb } from '../verb.ts';

export const verb: Verb = {
  options: [profileOption('which one to forget')],
  examples: ['logout', 'logout --profile work'],
  notes: 'The token itself goes on working for whoever else has it; "plant-store token revoke" ends it.',
  run,
};

async function run(flags: { profile?: string }): Promise<void> {
  const name = profileNameOf(process.env, flags);
  await changeProfiles(process.env, (profiles) => {
    if (profiles.delete(name)) return;
    throw new Failure(`There is no profile "${name}". To see those there are: plant-store login --list`);
  });
  say(`Forgot the profile "${name}". Its token works until it is revoked: plant-store token revoke ID`);
}
