import type { keptLists as original } from '../../src/plants/kept-lists.ts';
import { replaceModule } from './replace-module.ts';

/** The service without lists in memory; load it first (`--import`). Everything else is unchanged. */

replaceModule('src/plants/kept-lists.ts', import.meta.url);

/** Keeps nothing. */
export function keptLists<List extends { json: unknown }>(): ReturnType<typeof original<List>> {
  return { find: () => undefined, read: (_viewer, _query, read) => read() };
}
