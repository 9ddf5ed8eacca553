import { listOf, type Members } from './answer-reader.ts';
import { call } from './api.ts';
import type { Api } from './api-options.ts';
import { requests } from './limits.ts';
import { nextCursor } from './next-cursor.ts';
import { persist } from './retry.ts';

/** A plant out of a list. */
export type ListedPlant = { id: bigint; name: string; tag: string | undefined; owner: string };

export type PlantsQuery = {
  /** Plants in all; Infinity for every one. */
  limit: number;
  /** Ends the list where it is. */
  signal?: AbortSignal;
};

export type PlantPage = {
  plants: ListedPlant[];
  /** Whether there are plants behind it. */
  more: boolean;
};

/**
 * The plants that the user has access to, their own first, a page at a time, so that a long list takes no more memory.
 * A page that cannot be had is asked for again where the list was, so that no plant is left out or comes twice.
 */
export async function* plantPages(api: Api, { limit, signal }: PlantsQuery): AsyncGenerator<PlantPage> {
  let left = limit;
  let cursor: string | undefined;
  do {
    const query = new URLSearchParams({ fields: 'id,name,tag,owner' });
    query.set('limit', String(Math.min(left, requests.pagePlants)));
    if (cursor !== undefined) query.set('cursor', cursor);
    const ending = signal && { signal };
    const page = await persist(() => call(api, 'GET', `/plants?${query}`, ending), {
      isKnown: cursor !== undefined,
      ...ending,
    }).catch(unlessAborted(signal));
    if (page === undefined) return;
    const { body, headers } = page;
    const plants = listOf(body).map(plantOf);
    cursor = nextCursor(headers.get('link'));
    left -= plants.length;
    yield { plants, more: cursor !== undefined };
  } while (cursor !== undefined && left > 0 && !signal?.aborted);
}

/** Whoever has ended the list wants no more of it, failures included. */
function unlessAborted(signal: AbortSignal | undefined): (error: unknown) => undefined {
  return (error) => {
    if (!signal?.aborted) throw error;
  };
}

function plantOf(members: Members): ListedPlant {
  return {
    id: members.integer('id'),
    name: members.text('name'),
    tag: members.optionalText('tag'),
    owner: members.text('owner'),
  };
}
