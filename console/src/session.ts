import { signal } from '@preact/signals';
import { PlantStore, type Token } from '../../packages/client/src/client.ts';
import { apiUrl, watchedFetch } from './connection.ts';
import { sentenceOf } from './failure.ts';
import { isHeld } from './hold.ts';
import { kept } from './kept.ts';
import { toast, toasts } from './toasts.ts';

export type Scope = Token['scopes'][number];

/** The signed-in user, and the client that acts for them. */
export type Session = { store: PlantStore; user: string; scopes: ReadonlySet<string> };

export const session = signal<Session | undefined>(undefined);
/** True until it is known whether this tab has kept a token. */
export const isRestoring = signal(true);
/** Why the user has to sign in again. */
export const signedOutBecause = signal<string | undefined>(undefined);

/** In `sessionStorage`, which ends with the tab. There is no cookie, and nothing in `localStorage`. */
const KEPT = 'plant-store.token';
/** Where the pages of the documentation keep the token for their requests. */
const KEPT_BY_DOCS = 'plant-store.docs.token';

// Leaving the console ends the session, as a reload does: Back must not revive one from before the user signed out.
addEventListener('pageshow', ({ persisted }) => persisted && location.reload());

/** How many sign-ins have begun. The last one counts: a kept token may be answered after the one in the form. */
let signIns = 0;

/** Whether the token has a scope. Pages do not offer what the service would refuse. */
export function may(scope: Scope): boolean {
  return session.value?.scopes.has(scope) ?? false;
}

/** Why a button that needs a scope cannot be pressed, if the token lacks it. */
export function refusalFor(scope: Scope): string | undefined {
  return may(scope) ? undefined : `Your token lacks the scope ${scope}.`;
}

/** The client of the signed-in user. Pages are only shown while somebody is signed in. */
export function store(): PlantStore {
  const current = session.peek();
  if (!current) throw new Error('Nobody is signed in.');
  return current.store;
}

/** Tells a failure at the edge of the page, unless the session that it began in is over. */
export function reporter(): (failure: unknown) => void {
  const before = session.peek();
  return (failure) => {
    if (session.peek() === before) toast(sentenceOf(failure), { kind: 'failed' });
  };
}

/**
 * Signs in with a token.
 * @param keep Whether a reload of this tab finds the token again.
 * @returns A sentence if the service does not accept the token.
 */
export async function signIn(token: string, { keep }: { keep: boolean }): Promise<string | undefined> {
  // A header can contain nothing else.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    return 'A token consists of letters, digits and symbols without spaces. Did you copy all of it?';
  }
  const own = ++signIns;
  try {
    // The person at the form can read a refusal and try again.
    const asking = new PlantStore({ url: apiUrl.href, token, fetch: watchedFetch, retries: 0 });
    const { user, scopes } = await asking.me();
    if (own !== signIns) return undefined;
    if (keep) kept.setItem(KEPT, token);
    else kept.removeItem(KEPT);
    signedOutBecause.value = undefined;
    // Here rather than at the end of a session: what ends with it may still add one.
    toasts.value = [];
    session.value = { store: clientFor(token), user, scopes: new Set(scopes) };
    return undefined;
  } catch (error) {
    return sentenceOf(error);
  }
}

export function signOut(reason?: string): void {
  kept.removeItem(KEPT);
  kept.removeItem(KEPT_BY_DOCS);
  signedOutBecause.value = reason;
  session.value = undefined;
}

/** Signs in with the token that this tab has kept, if any. */
export async function restoreSession(): Promise<void> {
  const token = kept.getItem(KEPT);
  if (token !== null) signedOutBecause.value = await signIn(token, { keep: true });
  isRestoring.value = false;
}

/** Its calls fail once the session has ended, so that work that still runs then neither goes on nor reports a success. */
function clientFor(token: string): PlantStore {
  function refuseWhenOver(): void {
    if (session.peek()?.store !== client) throw new Error('You signed out. Sign in again to continue.');
  }
  const client = new PlantStore({
    url: apiUrl.href,
    token() {
      refuseWhenOver();
      return token;
    },
    async fetch(input, init) {
      const response = await watchedFetch(input, init);
      refuseWhenOver();
      // While a secret is shown, the next request will end the session.
      if (response.status === 401 && !isHeld()) {
        signOut(
          'The service no longer accepts the token: it expired or was revoked, or its user was disabled. Sign in again to continue here.',
        );
      }
      return response;
    },
  });
  return client;
}
