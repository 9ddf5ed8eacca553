import { database as limits } from '../limits.ts';
import { createChecksum } from './checksum.ts';
import { type CopiedTable, copiedTables } from './copied-tables.ts';
import type { CursorKeys } from './store.ts';

/** Values by column, each as text. */
export type CopiedRow = Readonly<Record<string, string | null>>;

/** Rows of a table that follow each other, and a text that says where the last of them stands. */
export type Chunk = { rows: readonly CopiedRow[]; end: string };

export type Readable = {
  /** The rows behind a position, in the order of a key; fewer than asked for are the last. */
  read(table: CopiedTable, after: string | undefined, limit: number): Promise<Chunk>;
};

/** The store that is copied. Nobody writes to it meanwhile. */
export type CopySource = Readable & {
  facts: StoreFacts;
  count(table: CopiedTable): number;
  close(): void;
};

export type StoreFacts = {
  cursorKeys: CursorKeys;
  /** The highest id that a user has or had: no later one gets it. */
  lastUser: number;
};

/** The store that is made. Nobody uses it before the end. */
export type CopyTarget = Readable & {
  /**
   * Marks the store as one that is being made, or goes on with a copy that was broken off.
   *
   * @returns how far each table came
   * @throws Error when there is something else in the store
   */
  begin(facts: StoreFacts): Promise<ReadonlyMap<string, Copied>>;
  /** Adds the rows behind a position and writes down that it came so far: both or none. */
  add(table: CopiedTable, chunk: Chunk, after: string | undefined): Promise<void>;
  /** Looks at what has been added, so that it is read back, and later used, in good ways. */
  analyze(): Promise<void>;
  /** Makes it a store like any other. */
  finish(facts: StoreFacts): Promise<void>;
  close(): Promise<void>;
};

/** `end`: the position of the last row that was copied. */
export type Copied = { rows: number; end: string | undefined };

export type CopyParts = { source: CopySource; target: CopyTarget; report: CopyReport };

/** What is told of a copy while it is made. */
export type CopyReport = {
  begins(phase: 'copy' | 'verify', table: string): void;
  /** So many rows more, of the table that began last. */
  advances(rows: number): void;
};

/** A table that was copied, and is the same on both sides. */
export type VerifiedTable = { table: string; rows: number; checksum: string };

/** Rows in one transaction. */
const CHUNK = limits.copyRows;

/**
 * Copies everything, then reads it back and compares. Killed at any time, it goes on where it was when it is run again.
 *
 * @throws Error when the target holds something else, or not the same in the end
 */
export async function copyStore({ source, target, report }: CopyParts): Promise<VerifiedTable[]> {
  const progress = await target.begin(source.facts);
  for (const table of copiedTables) {
    report.begins('copy', table.name);
    await copyTable(table, { source, target, report }, progress.get(table.name));
  }
  await target.analyze();
  const verified: VerifiedTable[] = [];
  for (const table of copiedTables) {
    report.begins('verify', table.name);
    verified.push(await verify(table, { source, target, report }));
  }
  await target.finish(source.facts);
  return verified;
}

async function copyTable(
  table: CopiedTable,
  { source, target, report }: CopyParts,
  before: Copied | undefined,
): Promise<void> {
  report.advances(before?.rows ?? 0);
  let after = before?.end;
  for await (const chunk of chunksOf(source, table, after)) {
    await target.add(table, chunk, after);
    after = chunk.end;
    report.advances(chunk.rows.length);
  }
}

async function verify(table: CopiedTable, { source, target, report }: CopyParts): Promise<VerifiedTable> {
  const [there, here] = [await summaryOf(source, table, report), await summaryOf(target, table, report)];
  if (there.rows === here.rows && there.checksum === here.checksum) return { table: table.name, ...here };
  throw new Error(
    `The copy of ${table.name} differs: ${there.rows} rows with the checksum ${there.checksum} became ` +
      `${here.rows} with ${here.checksum}. Was the store changed between two runs? ` +
      'Make the database anew, and copy again.',
  );
}

async function summaryOf(side: Readable, table: CopiedTable, report: CopyReport) {
  const names = Object.keys(table.columns);
  const checksum = createChecksum();
  let rows = 0;
  for await (const chunk of chunksOf(side, table)) {
    for (const row of chunk.rows) checksum.add(names.map((name) => row[name] ?? null));
    rows += chunk.rows.length;
    report.advances(chunk.rows.length);
  }
  return { rows, checksum: checksum.digest() };
}

/** All behind a position. The next chunk is asked for before the one before is worked on. */
async function* chunksOf(side: Readable, table: CopiedTable, after?: string): AsyncGenerator<Chunk, void> {
  let chunk = await side.read(table, after, CHUNK);
  while (chunk.rows.length > 0) {
    const isLast = chunk.rows.length < CHUNK;
    const next = isLast ? undefined : side.read(table, chunk.end, CHUNK);
    // If it fails it is found below; until then nobody has seen to it.
    next?.catch(() => {});
    yield chunk;
    if (!next) return;
    chunk = await next;
  }
}
