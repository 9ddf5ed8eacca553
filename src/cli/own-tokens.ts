import type { Token, TokenCreated } from '../../packages/client/src/schemas.ts';
import type { Scope } from '../access/scopes.ts';
import { serviceFor } from './api.ts';
import type { ApiFlags } from './api-options.ts';
import { Failure, Misuse } from './failure.ts';
import type { StoreFlags } from './service/store.ts';
import { renderTable } from './terminal/table.ts';
import { print, printJson, say } from './terminal/terminal.ts';
import { option } from './verb.ts';

/** What the verbs of a token do with `--own`: over the API instead of on the store. */

export type OwnFlags = ApiFlags & { own?: true };

export const ownOption = () =>
  option(
    '--own',
    'act on your own tokens, over the API of a running service; no access to the store is needed',
  );

/**
 * Whether the verb is to use the API.
 * @throws Misuse when the flags do not go together
 */
export function isOwn(flags: OwnFlags & StoreFlags & { user?: string }): boolean {
  const { own, user, dataDir, url, token, profile } = flags;
  if (own && (user ?? dataDir) !== undefined)
    throw new Misuse('--user and --data-dir cannot be used with --own');
  if (!own && (url ?? token ?? profile) !== undefined) {
    throw new Misuse('--url, --token and --profile require --own');
  }
  return own === true;
}

type CreateFlags = OwnFlags & { label: string; scopes?: Scope[]; expiresIn?: number };

/** `expiresIn`: milliseconds, as `overlap` below. */
export async function createOwn({ label, scopes, expiresIn, ...flags }: CreateFlags): Promise<void> {
  const lifetime = expiresIn === undefined ? undefined : Math.ceil(expiresIn / 1000);
  showOnce(await serviceFor(flags).tokens.create({ label, scopes, expiresIn: lifetime }));
}

export async function rotateOwn(flags: OwnFlags & { overlap?: number }, id: string): Promise<void> {
  const overlap = flags.overlap === undefined ? undefined : flags.overlap / 1000;
  const rotated = await serviceFor(flags).tokens.rotate(id, { overlap });
  showOnce(rotated);
  const old = overlap === 0 ? 'is refused from now on' : `works beside it until ${rotated.overlapUntil}`;
  say(`The old one, ${id}, ${old}.`);
}

export async function listOwn(flags: OwnFlags & { json?: true }): Promise<void> {
  const listed = await serviceFor(flags).tokens.list();
  if (flags.json) return printJson(listed);
  if (listed.length === 0) return say('You have no tokens.');
  print(renderTable(['ID', 'LABEL', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED'], listed.map(row)));
}

function row({ id, label, scopes, createdAt, expiresAt = 'never', lastUsedOn = 'never' }: Token): string[] {
  return [id, label, scopes.join(','), createdAt, expiresAt, lastUsedOn];
}

function showOnce({ id, token, expiresAt }: TokenCreated): void {
  if (token === undefined) {
    throw new Failure(
      `The answer with the token was lost. Try: plant-store token rotate --own ${id} --overlap 0`,
    );
  }
  print([token]);
  const end = expiresAt === undefined ? 'lasts until it is revoked' : `lasts until ${expiresAt}`;
  say(`Created the token ${id}, which ${end}. It is shown only now.`);
}
