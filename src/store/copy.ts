import { hash } from 'node:crypto';
import { database as limits } from '../limits.ts';
import type { CursorKeys } from './store.ts';

export type CopiedTable = { name: string; columns: readonly string[] };

/** The target's text for each value, by column. */
export type CopiedRow = Readonly<Record<string, string | null>>;

/** The store to copy. Nobody writes to it meanwhile. */
export type CopySource = {
  /** Each table comes after those it references. Excludes what the target derives, such as counts. */
  tables: readonly SourceTable[];
  cursorKeys: CursorKeys;
  /** The highest user id ever assigned: no later user gets it. */
  lastUser: number;
  close(): void;
};

export type SourceTable = CopiedTable & {
  count(): number;
  /** Skips the first `skipped` rows; the order never changes. */
  rows(skipped: number): Iterable<CopiedRow>;
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

type CopyParts = { source: CopySource; target: CopyTarget; report: CopyReport };

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
  const { source, target } = parts;
  const copied = await target.begin(source);
  for (const table of source.tables) await copyTable(table, parts, copied.get(table.name) ?? 0);
  const verified = await Array.fromAsync(source.tables, (table) => verify(table, parts));
  await target.finish(source);
  return verified;
}

async function copyTable(table: SourceTable, { target, report }: CopyParts, before: number): Promise<void> {
  report.begins('copy', table.name);
  report.advances(before);
  let copied = before;
  for (const rows of chunksOf(table.rows(before))) {
    await target.add(table, rows, copied);
    copied += rows.length;
    report.advances(rows.length);
  }
}

async function verify(table: SourceTable, { target, report }: CopyParts): Promise<VerifiedTable> {
  report.begins('verify', table.name);
  let rows = 0;
  let sum = 0n;
  for (const chunk of chunksOf(table.rows(0))) {
    for (const row of chunk) sum += hashOf(table, row);
    rows += chunk.length;
    report.advances(chunk.length);
  }
  const there = summaryOf(rows, sum);
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
  let characters = 0;
  for (const row of rows) {
    chunk.push(row);
    for (const value of Object.values(row)) characters += value?.length ?? 0;
    if (chunk.length < limits.copyRows && characters < limits.copyCharacters) continue;
    yield chunk;
    chunk = [];
    characters = 0;
  }
  if (chunk.length > 0) yield chunk;
}

/**
 * The number of rows of a table, and a checksum over them in any order, since stores order keys differently: the sum of
 * the first 64 bits of each row's SHA-256, so any missing, duplicate or changed row shows.
 */
export type Summary = { rows: number; checksum: string };

/** Each value of a row is written with its length before it, or as `-` for null, so no two rows have the same text. */
const ABSENT = '-';

/** As `checksumInSql`. */
function hashOf({ columns }: CopiedTable, row: CopiedRow): bigint {
  const values = columns.map((column) => row[column] ?? null);
  const text = values.map((value) => (value === null ? ABSENT : `${Buffer.byteLength(value)}:${value}`));
  return hash('sha256', text.join(''), 'buffer').readBigInt64BE();
}

/** A PostgreSQL statement that selects `rows` and `sum` of a table. */
export function checksumInSql(table: string, columns: readonly string[]): string {
  const values = columns.map(
    (column) => `coalesce(octet_length(${column}::text) || ':' || ${column}::text, '${ABSENT}')`,
  );
  return `SELECT count(*) AS rows,
      coalesce(sum(('x' || encode(substr(sha256(convert_to(${values.join(' || ')}, 'UTF8')), 1, 8), 'hex'))::bit(64)::int8), 0) AS sum
    FROM ${table}`;
}

/** @param sum of signed 64-bit integers */
export function summaryOf(rows: number, sum: bigint): Summary {
  return { rows, checksum: BigInt.asUintN(64, sum).toString(16).padStart(16, '0') };
}
