import assert from 'node:assert/strict';
import { after, mock, test } from 'node:test';
import { accessEpoch, visibleOwners } from '../../../src/store/sqlite/access/visible-owners.ts';
import { choreReads } from '../../../src/store/sqlite/deliveries/chores.ts';
import { deliveryReads } from '../../../src/store/sqlite/deliveries/deliveries.ts';
import { eventReads } from '../../../src/store/sqlite/deliveries/events.ts';
import { laneReads } from '../../../src/store/sqlite/deliveries/lanes.ts';
import { webhookReads } from '../../../src/store/sqlite/deliveries/webhooks.ts';
import { openConnection } from '../../../src/store/sqlite/engine/connection.ts';
import { migrate } from '../../../src/store/sqlite/engine/migrate.ts';
import { storeReads } from '../../../src/store/sqlite/engine/readings.ts';
import { createSnapshot } from '../../../src/store/sqlite/engine/snapshot.ts';
import { createWriter } from '../../../src/store/sqlite/engine/writer.ts';
import { idempotencyReads } from '../../../src/store/sqlite/plants/idempotency.ts';
import { plantReads } from '../../../src/store/sqlite/plants/plants.ts';
import { createVersions } from '../../../src/store/sqlite/plants/versions.ts';

/** How SQLite runs the statements of webhooks: none may take longer as the store grows. */

const db = openConnection(':memory:');
migrate(db, 0);
after(() => db.close());
const statements = statementsMade();

/** Partial indexes that contain only the rows in question, and tables of pending work. */
const SHORT = [
  'INDEX webhooks_deleted',
  'INDEX users_deleted',
  'INDEX plants_unfolded',
  'SCAN replays',
  'SCAN withdrawals',
];
/** Rows that another step found by an index, or no table at all. */
const DERIVED = /^SCAN (?:\(subquery-\d+\)|CONSTANT ROW|json_each VIRTUAL TABLE INDEX 1:)$/;

test('no statement scans a whole table or sorts rows', () => {
  assert.ok(statements.length > 70, `${statements.length} statements were found`);
  const isSlow = (step: string) =>
    step.includes('TEMP B-TREE') ||
    (step.startsWith('SCAN') && !DERIVED.test(step) && !SHORT.some((part) => step.includes(part)));
  assert.deepEqual(
    statements.filter((sql) => stepsOf(sql).some(isSlow)),
    [],
  );
});

test('deliveries in one state are found without reading the others of their webhook', () => {
  const ofState = statements.filter((sql) => /webhook = \S+ AND (?:d\.)?state = /.test(sql));
  assert.ok(ofState.length >= 5, `${ofState.length} statements were found`);
  const byState = /USING (?:COVERING )?INDEX deliveries_(?:by_state|due|asked) /;
  assert.deepEqual(
    ofState.filter((sql) => !stepsOf(sql).some((step) => byState.test(step))),
    [],
  );
});

test('a list continues where the previous page ended, without reading earlier rows', () => {
  const pages = statements.filter(
    (sql) => /(?:\b(?:event|id) [<>]=? \?|\(folded, id\) >= )/.test(sql) && sql.includes('LIMIT'),
  );
  assert.ok(pages.length >= 10, `${pages.length} statements were found`);
  // Or it looks up the events that it is given.
  const continues =
    /SEARCH .*(?:\b(?:event|id)[<>]\?|\(webhook=\? AND event=\?\)|\(folded,id\)>\(\?,\?\) AND \(folded,id\)<)/;
  assert.deepEqual(
    pages.filter((sql) => !stepsOf(sql).some((step) => continues.test(step))),
    [],
  );
});

/** Every statement that the webhook parts of the store prepare. */
function statementsMade(): string[] {
  const prepare = mock.method(db, 'prepare');
  const snapshot = createSnapshot(db, { readFailed: (error) => error });
  createWriter(db, { deliveryDelayMs: 0, maxPlantsPerUser: 1, versions: createVersions() });
  const epoch = accessEpoch(db, snapshot);
  const visible = visibleOwners(db, snapshot, epoch);
  for (const reads of [deliveryReads, eventReads]) reads(db, snapshot, visible);
  const { page } = plantReads(db, snapshot, visible);
  for (const order of ['id', 'descending', { prefix: 'a' }] as const) {
    page({ viewer: 1, order, from: undefined, through: undefined, limit: 1, fields: ['id', 'name'] });
  }
  laneReads(db);
  for (const reads of [choreReads, webhookReads, idempotencyReads, storeReads]) {
    reads(db, snapshot);
  }
  snapshot.end();
  const made = prepare.mock.calls.map(({ arguments: [sql] }) => sql);
  prepare.mock.restore();
  return made.filter((sql) => /^(?:SELECT|INSERT|UPDATE|DELETE)\b/.test(sql));
}

/** The steps of SQLite's query plan. */
function stepsOf(sql: string): string[] {
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  return steps.map(({ detail }) => String(detail));
}
