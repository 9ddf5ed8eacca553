import { database as limits } from '../limits.ts';
import { createChecksum, type Summary } from './checksum.ts';
import type { CursorKeys } from './store.ts';

/** A table as the target has it. */
export type CopiedTable = { name: string; columns: readonly string[] };

/** Values by column, each as the target writes it as text. */
export type CopiedRow = Readonly<Record<string, string | null>>;

/** The store that is copied. Nobody writes to it meanwhile. */
export type CopySource = {
  /** Each behind those that its rows refer to. What the target works out by itself is left out, such as counts. */
  tables: readonly SourceTable[];
  facts: StoreFacts;
  close(): void;
};

export type SourceTable = CopiedTable & {
  count(): number;
  /** The rows without the first so many, in an order that is always the same. */
  rows(skipped: number): Iterable<CopiedRow>;
};

export type StoreFacts = {
  cursorKeys: CursorKeys;
  /** The highest id that a user has or had: no later one gets it. */
  lastUser: number;
};

/** The store that is made. Nobody uses it before the end. */
export type CopyTarget = {
  /**
   * Marks the store as one that is being made, or goes on with a copy that was broken off.
   *
   * @returns how many rows of each table it has
   * @throws Error when there is something else in the store
   */
  begin(source: CopySource): Promise<ReadonlyMap<string, number>>;
  /**
   * Adds the rows behind the first so many, and writes down that it came so far: both or none.
   *
   * @throws Error when the table has others
   */
  add(table: CopiedTable, rows: readonly CopiedRow[], before: number): Promise<void>;
  /** Reads every row back. */
  summary(table: CopiedTable): Promise<Summary>;
  /** Makes it a store like any other. */
  finish(source: CopySource): Promise<void>;
  close(): Promise<void>;
};

export type CopyParts = { source: CopySource; target: CopyTarget; report: CopyReport };

/** What is told of a copy while it is made. */
export type CopyReport = {
  begins(phase: 'copy' | 'verify', table: string): void;
  /** So many rows more, of the table that began last. */
  advances(rows: number): void;
};

/** A table that was copied, and is the same on both sides. */
export type VerifiedTable = Summary & { table: string };

/**
 * Copies everything, then reads it back and compares. Killed at any time, it goes on where it was when it is run again.
 *
 * @throws Error when the target holds something else, or not the same in the end
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
    `The copy of ${table.name} differs: ${there.rows} rows with the checksum ${there.checksum} became ` +
      `${here.rows} with ${here.checksum}. Was the store changed between two runs? ` +
      'Make the database anew, and copy again.',
  );
}

/** As many rows as go into one transaction. */
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
