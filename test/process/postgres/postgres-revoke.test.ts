import assert from 'node:assert/strict';
import { test } from 'node:test';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { revoke } from '../../../bench/postgres/revoke.ts';
import { hasPgbouncer } from '../../../bench/postgres/servers/pgbouncer.ts';
import { seededRandom, testSeed } from '../../../testkit/random/seeded.ts';

const skip = !hasPgbouncer() && 'pgbouncer is not installed';

test('a revoked token is refused by three replicas within 5 s, with hints and without', async (t) => {
  const findings = await revoke({ rounds: 1, random: seededRandom(testSeed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${testSeed}`);
  await t.test('and through PgBouncer', { skip }, () => {
    assert.ok(findings.checks.some(({ name }) => name.startsWith('through PgBouncer')));
  });
});
