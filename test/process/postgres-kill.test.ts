import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { seededRandom } from '../../bench/crash/random.ts';
import { violationsIn } from '../../bench/postgres/findings.ts';
import { kill } from '../../bench/postgres/kill.ts';

test('when one of two replicas is killed, nothing is lost, and the other sends what was pending within 12 s', async () => {
  const seed = randomInt(2 ** 31);
  const findings = await kill({ rounds: 2, random: seededRandom(seed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${seed}`);
});
