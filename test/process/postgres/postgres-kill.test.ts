import assert from 'node:assert/strict';
import { test } from 'node:test';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { kill } from '../../../bench/postgres/kill.ts';
import { seededRandom, testSeed } from '../../../testkit/random/seeded.ts';

test('when one of two replicas is killed, nothing is lost, and the other sends what was pending within 12 s', async () => {
  const findings = await kill({ rounds: 2, random: seededRandom(testSeed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${testSeed}`);
});
