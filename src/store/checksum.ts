import { hash } from 'node:crypto';

/** The number of rows of a table, and a checksum over them in any order, since stores order keys differently. */
export type Summary = { rows: number; checksum: string };

/** Each value of a row is written with its length before it, or as `-` for null, so no two rows have the same text. */
const ABSENT = '-';

/** Sums the first 64 bits of each row's SHA-256, so any missing, duplicate or changed row shows. As `checksumInSql`. */
export function createChecksum(columns: readonly string[]) {
  let rows = 0;
  let sum = 0n;
  return {
    add(row: Readonly<Record<string, string | null>>): void {
      const values = columns.map((column) => row[column] ?? null);
      const text = values.map((value) => (value === null ? ABSENT : `${Buffer.byteLength(value)}:${value}`));
      sum += hash('sha256', text.join(''), 'buffer').readBigInt64BE();
      rows++;
    },
    summary: () => summaryOf(rows, sum),
  };
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
