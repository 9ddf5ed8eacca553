import type { Page } from '../../packages/client/src/pages.ts';
import { Failure } from './failure.ts';
import { requests } from './limits.ts';
import { growingTable } from './terminal/table.ts';
import { print, writeJson } from './terminal/terminal.ts';
import { parseUpTo } from './verb.ts';

export type PageQuery = { limit: number; cursor: string | undefined; signal: AbortSignal | undefined };

/**
 * Reads a list page by page, so that a long one needs no more memory.
 * @param limit items in all; Infinity for all
 * @param signal ends the list early
 */
export async function* pagesOf<Item>(
  ask: (query: PageQuery) => Promise<Page<Item>>,
  { limit, signal }: { limit: number; signal?: AbortSignal },
): AsyncGenerator<Page<Item>> {
  let left = limit;
  let cursor: string | undefined;
  do {
    const query = { limit: Math.min(left, requests.pageItems), cursor, signal };
    const page = await ask(query).catch((error: unknown) => {
      // After an abort a failure no longer matters.
      if (!signal?.aborted) throw error;
    });
    if (page === undefined) return;
    // Such a list would never end.
    if (cursor !== undefined && page.next === cursor) {
      throw new Failure('A page leads to itself: does a proxy ignore the query?');
    }
    left -= page.items.length;
    cursor = page.next;
    yield page;
  } while (cursor !== undefined && left > 0 && !signal?.aborted);
}

/** The first `limit` items. Reads on until it is known whether there are more. */
export async function* firstOf<Item>(
  pages: AsyncIterable<Page<Item>>,
  limit: number,
): AsyncGenerator<Page<Item>> {
  let left = limit;
  for await (const { items, next = '' } of pages) {
    yield { items: items.slice(0, left), next: items.length > left ? next : undefined };
    left -= items.length;
    if (left < 0) return;
  }
}

async function printPages<Item>(
  pages: AsyncIterable<Page<Item>>,
  put: (items: readonly Item[], isFirst: boolean) => Promise<void>,
) {
  let printed = { isEmpty: true, hasMore: false };
  for await (const { items, next } of pages) {
    if (items.length > 0) await put(items, printed.isEmpty);
    printed = { isEmpty: printed.isEmpty && items.length === 0, hasMore: next !== undefined };
  }
  return printed;
}

export function printLines<Item>(pages: AsyncIterable<Page<Item>>, lineOf: (item: Item) => string) {
  return printPages(pages, (items) => print(items.map(lineOf)));
}

export function printTable<Item>(
  pages: AsyncIterable<Page<Item>>,
  headings: readonly string[],
  rowOf: (item: Item) => string[],
) {
  const table = growingTable(headings);
  return printPages(pages, (items) => print(table.next(items.map(rowOf))));
}

export async function printArray<Item>(pages: AsyncIterable<Page<Item>>, jsonOf: (item: Item) => string) {
  const printed = await printPages(pages, (items, isFirst) =>
    // Split at line feeds only: a string may contain other line separators.
    writeJson((isFirst ? '[' : ',') + `\n${items.map(jsonOf).join(',\n')}`.replaceAll('\n', '\n  ')),
  );
  await writeJson(printed.isEmpty ? '[]\n' : '\n]\n');
  return printed;
}

export const parseLimit = parseUpTo(999_999_999);
