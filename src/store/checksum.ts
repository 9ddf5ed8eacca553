import { hash } from 'node:crypto';

/** A checksum over rows in any order: no two stores keep all of their keys in the same one. */
type Checksum = {
  add(values: readonly (string | null)[]): void;
  /** Of all rows so far, in hexadecimal. */
  digest(): string;
};

const WORD = 4;

/** The SHA-256 of each row, added up word by word: a row that is missing, doubled or different changes the sum. */
export function createChecksum(): Checksum {
  const sums = new Uint32Array(8);
  return {
    add(values) {
      const row = hash('sha256', JSON.stringify(values), 'buffer');
      for (let n = 0; n < sums.length; n++) sums[n] = (sums[n] ?? 0) + row.readUInt32BE(n * WORD);
    },
    digest: () => Array.from(sums, (sum) => sum.toString(16).padStart(2 * WORD, '0')).join(''),
  };
}
