import { profileNameOf, profileOption } from '../api-options.ts';
import { Failure } from '../failure.ts';
import { changeProfiles } from '../profiles.ts';
import { say } from '../terminal/terminal.ts';
import type { Verb } from '../verb.ts';

export const verb: Verb = {
  options: [profileOption('the profile to forget')],
  examples: ['logout', 'logout --profile work'],
  notes: 'The token itself stays valid; "plant-store token revoke" revokes it.',
  run,
};

async function run(flags: { profile?: string }): Promise<void> {
  const name = profileNameOf(process.env, flags);
  await changeProfiles(process.env, (profiles) => {
    if (profiles.delete(name)) return;
    throw new Failure(`There is no profile "${name}". To list profiles: plant-store login --list`);
  });
  say(`Forgot the profile "${name}". Its token stays valid until revoked: plant-store token revoke ID`);
}
