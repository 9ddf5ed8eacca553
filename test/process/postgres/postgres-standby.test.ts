import assert from 'node:assert/strict';
import { test } from 'node:test';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { standbyGone } from '../../../bench/postgres/standby.ts';
import { seededRandom, testSeed } from '../../../testkit/random/seeded.ts';

test('without its synchronous standby a create is answered with an unknown outcome, and retried once when it is back', async () => {
  const findings = await standbyGone({ rounds: 1, random: seededRandom(testSeed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${testSeed}`);
});
