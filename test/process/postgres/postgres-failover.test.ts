import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failover } from '../../../bench/postgres/failover.ts';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { seededRandom, testSeed } from '../../../testkit/random/seeded.ts';

test('when the primary is killed and its standby promoted, no acknowledged plant is lost, every event arrives, and writes recover by themselves', async () => {
  const findings = await failover({ rounds: 1, random: seededRandom(testSeed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${testSeed}`);
});
