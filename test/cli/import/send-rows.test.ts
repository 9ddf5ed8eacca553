import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ImportRow } from '../../../src/cli/import/rows.ts';
import { sendRows } from '../../../src/cli/import/send-rows.ts';
import { imports } from '../../../src/cli/limits.ts';

const FORGOTTEN_AT = 1_000;

async function* rowsFrom(drafts: readonly { name: string; id?: bigint }[]): AsyncGenerator<ImportRow[]> {
  yield drafts.map((draft, i) => ({
    row: { line: i + 1, draft },
    cells: () => [],
    titles: [],
  }));
}

/** Continues an import until it has sent this many rows, when the keys of the earlier run are forgotten. */
function continued(drafts: readonly { name: string; id?: bigint }[], forgottenAfter: number, known: number) {
  let sent = 0;
  const counts = { added: 0, addedBefore: 0, failed: 0 };
  const ended = sendRows({
    rows: rowsFrom(drafts),
    keyBase: 'import',
    sender: { send: async () => ({ was: 'added', before: ++sent <= known }) },
    report: { add: () => assert.fail('a row failed') },
    counts,
    concurrency: 1,
    stopping: new AbortController(),
    clock: { now: () => (sent < forgottenAfter ? 0 : FORGOTTEN_AT) },
    forgottenAt: FORGOTTEN_AT,
  });
  return { ended, counts };
}

const named = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `Plant ${i}` }));

test('a resumed import stops at rows that the service may have added and forgotten', async () => {
  const { ended, counts } = continued(named(20), 10, 20);
  await assert.rejects(ended, /started more than 24 hours ago/);
  assert.deepEqual(counts, { added: 0, addedBefore: 10, failed: 0 });
});

test('a resumed import sends rows with ids, and rows that no earlier run can have sent', async () => {
  const withIds = continued(
    named(20).map((draft, i) => ({ ...draft, id: BigInt(i) })),
    10,
    20,
  );
  await withIds.ended;
  assert.equal(withIds.counts.addedBefore, 20);
  const { most } = imports.requests;
  const beyond = continued(named(most + 30), most + 20, 20);
  await beyond.ended;
  assert.deepEqual(beyond.counts, { added: most + 10, addedBefore: 20, failed: 0 });
});
