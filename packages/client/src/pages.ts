/** A part of a list. */
export type Page<Item> = {
  items: Item[];
  /** The cursor of the next page; undefined on the last one. */
  next: string | undefined;
};

/** For a list that is fetched as a whole, in pages of this size. */
export type InPages<Options> = Options & { pageSize?: number | undefined };

/** For a page of at most `limit` items, after `cursor`. */
export type OnePage<Options> = Options & { limit?: number | undefined; cursor?: string | undefined };

/** All items of a list. Fetches each page when the one before is used up. */
export async function* walk<Item>(
  pageAfter: (cursor: string | undefined) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, void> {
  let cursor: string | undefined;
  do {
    const { items, next } = await pageAfter(cursor);
    yield* items;
    cursor = next;
  } while (cursor !== undefined);
}

/** The page in a response. Only the cursor of its link is used: the token is sent to the configured URL only. */
export function pageOf<Item>({ body, headers }: { body: Item[]; headers: Headers }): Page<Item> {
  const [, target = ''] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('link') ?? '') ?? [];
  return { items: body, next: new URL(target, 'http://any').searchParams.get('cursor') ?? undefined };
}
