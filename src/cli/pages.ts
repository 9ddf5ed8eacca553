import type { Page } from '../../packages/client/src/pages.ts';
import { requests } from './limits.ts';
import { growingTable } from './terminal/table.ts';
import { print, writeJson } from './terminal/terminal.ts';
import { refuseValue } from './verb.ts';

export type PageQuery = { limit: number; cursor: string | undefined; signal: AbortSignal | undefined };

/**
 * A list a page at a time, so that a long one takes no more memory.
 *
 * @param limit items in all; Infinity for every one
 * @param signal ends the list where it is
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
      // Whoever has ended the list wants no more of it, failures included.
      if (!signal?.aborted) throw error;
    });
    if (page === undefined) return;
    left -= page.items.length;
    cursor = page.next;
    yield page;
  } while (cursor !== undefined && left > 0 && !signal?.aborted);
}

/** What became of a list that was printed. */
export type Printed = { isEmpty: boolean; hasMore: boolean };

/** Prints a list as its pages come. `text` is what one of them prints. */
async function printPages<Item>(
  pages: AsyncIterable<Page<Item>>,
  put: (items: readonly Item[], isFirst: boolean) => void | Promise<void>,
): Promise<Printed> {
  let printed = { isEmpty: true, hasMore: false };
  for await (const { items, next } of pages) {
    if (items.length > 0) await put(items, printed.isEmpty);
    printed = { isEmpty: printed.isEmpty && items.length === 0, hasMore: next !== undefined };
  }
  return printed;
}

/** A line for each item. */
export function printLines<Item>(pages: AsyncIterable<Page<Item>>, lineOf: (item: Item) => string) {
  return printPages(pages, (items) => print(...items.map(lineOf)));
}

/** One table, however many pages it takes. */
export function printTable<Item>(
  pages: AsyncIterable<Page<Item>>,
  headings: readonly string[],
  rowOf: (item: Item) => string[],
): Promise<Printed> {
  const table = growingTable(headings);
  return printPages(pages, (items) => print(...table.next(items.map(rowOf))));
}

/** One array of JSON, however many pages it takes. */
export async function printArray<Item>(
  pages: AsyncIterable<Page<Item>>,
  jsonOf: (item: Item) => string,
): Promise<Printed> {
  const printed = await printPages(pages, (items, isFirst) =>
    // By line feeds alone: a line separator in a string is none of them.
    writeJson((isFirst ? '[' : ',') + `\n${items.map(jsonOf).join(',\n')}`.replaceAll('\n', '\n  ')),
  );
  await writeJson(printed.isEmpty ? '[]\n' : '\n]\n');
  return printed;
}

/** For a flag that says how many at most. */
export function parseLimit(text: string): number {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : refuseValue('an integer from 1 to 999999999');
}
