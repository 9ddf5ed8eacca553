import assert from 'node:assert/strict';
import { test } from 'node:test';
import { database as limits } from '../../src/limits.ts';
import { type CopiedRow, copyStore } from '../../src/store/copy.ts';

const table = { name: 'attempts', columns: ['excerpt'] };

/** The rows of each transaction that copies them. */
async function chunksOf(rows: readonly CopiedRow[]): Promise<number[]> {
  const chunks: number[] = [];
  const copied = new Error('all rows are copied');
  const copying = copyStore({
    source: {
      tables: [{ ...table, count: () => rows.length, rows: (skipped) => rows.slice(skipped) }],
      cursorKeys: { secret: '', storeKey: 0 },
      lastUser: 1,
      close() {},
    },
    target: {
      begin: async () => new Map(),
      add: async (_, chunk) => void chunks.push(chunk.length),
      summary: () => Promise.reject(copied),
      finish: async () => {},
      close: async () => {},
    },
    report: { begins() {}, advances() {} },
  });
  await assert.rejects(copying, copied);
  return chunks;
}

test('a copy moves so much at a time that it arrives over a slow link as well', async () => {
  const long = Array.from({ length: 1_000 }, () => ({ excerpt: 'x'.repeat(4_096) }));
  const most = limits.copyCharacters / 4_096;
  assert.deepEqual(await chunksOf(long), [most, most, most, 1_000 - 3 * most]);
  const short = Array.from({ length: limits.copyRows + 1 }, () => ({ excerpt: null }));
  assert.deepEqual(await chunksOf(short), [limits.copyRows, 1]);
});
