import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { standbyGone } from '../../../bench/postgres/standby.ts';
import { seededRandom } from '../../../testkit/random/seeded.ts';

test('without its synchronous standby a create is answered with an unknown outcome, and retried once when it is back', async () => {
  const seed = randomInt(2 ** 31);
  const findings = await standbyGone({ rounds: 1, random: seededRandom(seed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${seed}`);
});
