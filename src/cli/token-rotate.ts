import { type Command, InvalidArgumentError } from 'commander';
import { rotateToken } from '../access/tokens.ts';
import { access } from '../limits.ts';
import { examplesFirst } from './examples.ts';
import { parseExpiry } from './expiry.ts';
import { Failure } from './failure.ts';
import { parseTokenId } from './ids.ts';
import { unknownToken } from './missing-token.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { print, say } from './terminal.ts';
import { durationRule, isoTime, parseDuration } from './time.ts';

/** `token rotate ID` */
export function tokenRotate(token: Command): void {
  token
    .command('rotate')
    .description('make a token in the place of another, with its user, label and scopes, and print it')
    .argument('<id>', 'the id that token list shows: tok_…', parseTokenId)
    .option(
      '--overlap <duration>',
      `how long the old token works on beside it: ${OVERLAP_RULE} (default: 24h)`,
      parseOverlap,
    )
    .option(
      '--expires-in <duration>',
      `${durationRule} (default: as long as the old one was good for)`,
      parseExpiry,
    )
    .addOption(settingOption('dataDir'))
    .configureHelp(
      examplesFirst(
        'token rotate tok_01k0c3t2v4x5y6z7a8b9c0d1e2 > ann.token',
        'token rotate tok_01k0c3t2v4x5y6z7a8b9c0d1e2 --overlap 7d --expires-in 90d',
      ),
    )
    .action(run);
}

/** In milliseconds. */
type RotateFlags = StoreFlags & { overlap?: number; expiresIn?: number };

async function run(id: string, flags: RotateFlags): Promise<void> {
  const overlapMs = flags.overlap ?? access.tokenOverlapMs.default;
  const request = { id, overlapMs, expiresInMs: flags.expiresIn };
  const rotated = await withStore(flags, (parts) => rotateToken(parts, request));
  if (typeof rotated === 'string') throw failures[rotated](id);
  if ('replacedBy' in rotated) {
    throw new Failure(`The token ${id} was replaced by ${rotated.replacedBy} before; rotate that one.`);
  }
  print(rotated.token);
  const { user, expiresAt, oldUntil } = rotated;
  const end = expiresAt === undefined ? 'lasts until it is revoked' : `lasts until ${isoTime(expiresAt)}`;
  const old = overlapMs === 0 ? 'is refused from now on' : `works beside it until ${isoTime(oldUntil)}`;
  say(
    `Made the token ${rotated.id} of the user "${user}", which ${end}. It is shown only now.`,
    `The old one, ${id}, ${old}.`,
  );
}

const failures = {
  'no token': unknownToken,
  'not live': (id: string) =>
    new Failure(
      `The token ${id} has expired or was revoked. To make another: plant-store token create --user NAME`,
    ),
  bootstrap: (id: string) =>
    new Failure(
      `The token ${id} is the bootstrap token. To replace it, start the service with another BOOTSTRAP_TOKEN.`,
    ),
};

const MOST_DAYS = access.tokenOverlapMs.most / 86_400_000;
const OVERLAP_RULE = `a duration such as 30m, 12h or 7d, at most ${MOST_DAYS}d; or 0, which ends the old one now`;

function parseOverlap(text: string): number {
  const overlap = /^0s?$/.test(text) ? 0 : (parseDuration(text) ?? Number.NaN);
  if (overlap <= access.tokenOverlapMs.most) return overlap;
  throw new InvalidArgumentError(`It must be ${OVERLAP_RULE}.`);
}
