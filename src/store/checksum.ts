import { hash } from 'node:crypto';

/** How many rows a table has, and a checksum over them in any order: no two stores keep all keys in the same one. */
export type Summary = { rows: number; checksum: string };

/** Of a row each value, with its length in front of it, or `-` for none: no two rows have the same text. */
const ABSENT = '-';

/**
 * Adds up the first 64 bits of the SHA-256 of each row: a row that is missing, doubled or different changes the sum.
 * `checksumInSql` does the same.
 */
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

/** The statement that selects `rows` and `sum` of a table of PostgreSQL. */
export function checksumInSql(table: string, columns: readonly string[]): string {
  const values = columns.map(
    (column) => `coalesce(octet_length(${column}::text) || ':' || ${column}::text, '${ABSENT}')`,
  );
  return `SELECT count(*) AS rows,
      coalesce(sum(('x' || encode(substr(sha256(convert_to(${values.join(' || ')}, 'UTF8')), 1, 8), 'hex'))::bit(64)::int8), 0) AS sum
    FROM ${table}`;
}

/** @param sum of 64-bit integers with a sign */
export function summaryOf(rows: number, sum: bigint): Summary {
  return { rows, checksum: BigInt.asUintN(64, sum).toString(16).padStart(16, '0') };
}
