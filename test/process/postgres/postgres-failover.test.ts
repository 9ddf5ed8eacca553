import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { failover } from '../../../bench/postgres/failover.ts';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { seededRandom } from '../../../testkit/random/seeded.ts';

test('when the primary is killed and its standby promoted, no acknowledged plant is lost and writes recover by themselves', async () => {
  const seed = randomInt(2 ** 31);
  const findings = await failover({ rounds: 1, random: seededRandom(seed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${seed}`);
});
