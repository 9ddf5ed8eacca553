import { access } from '../limits.ts';
import type { Runtime } from '../runtime.ts';
import type { AccessStore, User } from './port.ts';

export const userNameRule =
  `1 to ${access.userNameLength} characters, without control characters and lone surrogates, ` +
  'and without white space at either end';

const USER_NAME = new RegExp(`^(?!\\s)[^\\p{Cc}\\p{Cs}]{1,${access.userNameLength}}(?<!\\s)$`, 'u');

/** Whether a text satisfies `userNameRule`. Names are compared as they are: no case folding, no normalisation. */
export function isUserName(text: string): boolean {
  return USER_NAME.test(text);
}

/** Makes a user whose name satisfies `isUserName`. Undefined when the name is taken. */
export async function createUser(
  { store, runtime }: { store: AccessStore; runtime: Runtime },
  name: string,
): Promise<User | undefined> {
  return store.createUser({ name, at: runtime.clock.now() });
}
