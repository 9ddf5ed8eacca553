import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { seededRandom } from '../../bench/crash/random.ts';
import { violationsIn } from '../../bench/postgres/findings.ts';
import { standbyGone } from '../../bench/postgres/standby.ts';

test('while the synchronous standby is gone a create is answered with an unknown outcome, and is done once when it is back', async () => {
  const seed = randomInt(2 ** 31);
  const findings = await standbyGone({ rounds: 1, random: seededRandom(seed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${seed}`);
});
