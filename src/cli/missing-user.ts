import type { AccessStore } from '../access/port.ts';
import { Failure } from './failure.ts';
import { shellWord } from './terminal.ts';

/** Where a user is needed who can be made. */
export function missingUser(name: string): Failure {
  return new Failure(`There is no user "${name}". Make it with: plant-store user create ${shellWord(name)}`);
}

/** Where one of those there are is to be named. */
export function unknownUser(name: string): Failure {
  return new Failure(`There is no user "${name}". To see those there are: plant-store user list`);
}

export async function isUser(store: AccessStore, name: string): Promise<boolean> {
  return (await store.user(name)) !== undefined;
}
