import { database as limits } from '../limits.ts';
import { createChecksum, type Summary } from './checksum.ts';
import type { CursorKeys } from './store.ts';

export type CopiedTable = { name: string; columns: readonly string[] };

/** The target's text for each value, by column. */
export type CopiedRow = Readonly<Record<string, string | null>>;

/** The store to copy. Nobody writes to it meanwhile. */
export type CopySource = {
  /** Each table comes after those it references. Excludes what the target derives, such as counts. */
  tables: readonly SourceTable[];
  facts: StoreFacts;
  close(): void;
};

export type SourceTable = CopiedTable & {
  count(): number;
  /** Skips the first `skipped` rows; the order never changes. */
  rows(skipped: number): Iterable<CopiedRow>;
};

export type StoreFacts = {
  cursorKeys: CursorKeys;
  /** The highest user id ever assigned: no later user gets it. */
  lastUser: number;
};

/** The new store. Nobody uses it until it is finished. */
export type CopyTarget = {
  /**
   * Marks the store as unfinished, or resumes an interrupted copy.
   * @returns the number of rows copied so far, by table
   * @throws Error if the store contains anything else
   */
  begin(source: CopySource): Promise<ReadonlyMap<string, number>>;
  /**
   * Adds rows after the first `before` rows and records the progress, atomically.
   * @throws Error if the table does not have exactly that many rows
   */
  add(table: CopiedTable, rows: readonly CopiedRow[], before: number): Promise<void>;
  /** Reads every row back. */
  summary(table: CopiedTable): Promise<Summary>;
  finish(source: CopySource): Promise<void>;
  close(): Promise<void>;
};

export type CopyParts = { source: CopySource; target: CopyTarget; report: CopyReport };

export type CopyReport = {
  begins(phase: 'copy' | 'verify', table: string): void;
  /** More rows were processed of the table that began last. */
  advances(rows: number): void;
};

export type VerifiedTable = Summary & { table: string };

/**
 * Copies everything, then reads it back and compares. An interrupted copy resumes when it is run again.
 * @throws Error if the target contains anything else, or differs in the end
 */
export async function copyStore(parts: CopyParts): Promise<VerifiedTable[]> {
  const { source, target, report } = parts;
  const copied = await target.begin(source);
  for (const table of source.tables) {
    report.begins('copy', table.name);
    await copyTable(table, parts, copied.get(table.name) ?? 0);
  }
  const verified: VerifiedTable[] = [];
  for (const table of source.tables) {
    report.begins('verify', table.name);
    verified.push(await verify(table, parts));
  }
  await target.finish(source);
  return verified;
}

async function copyTable(table: SourceTable, { target, report }: CopyParts, before: number): Promise<void> {
  report.advances(before);
  let copied = before;
  for (const rows of chunksOf(table.rows(before))) {
    await target.add(table, rows, copied);
    copied += rows.length;
    report.advances(rows.length);
  }
}

async function verify(table: SourceTable, { target, report }: CopyParts): Promise<VerifiedTable> {
  const checksum = createChecksum(table.columns);
  for (const rows of chunksOf(table.rows(0))) {
    for (const row of rows) checksum.add(row);
    report.advances(rows.length);
  }
  const there = checksum.summary();
  const here = await target.summary(table);
  report.advances(here.rows);
  if (there.rows === here.rows && there.checksum === here.checksum) return { table: table.name, ...here };
  throw new Error(
    `The copy of ${table.name} differs: ${there.rows} rows with checksum ${there.checksum} became ` +
      `${here.rows} with ${here.checksum}. Did the store change between two runs? ` +
      'Recreate the database and copy again.',
  );
}

/** Splits rows into the chunks of one transaction each. */
function* chunksOf(rows: Iterable<CopiedRow>): Generator<CopiedRow[], void> {
  let chunk: CopiedRow[] = [];
  for (const row of rows) {
    chunk.push(row);
    if (chunk.length < limits.copyRows) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
