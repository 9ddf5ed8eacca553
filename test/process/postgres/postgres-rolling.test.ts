import assert from 'node:assert/strict';
import { test } from 'node:test';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { rolling } from '../../../bench/postgres/rolling.ts';
import { seededRandom, testSeed } from '../../../testkit/random/seeded.ts';

test('a rolling restart of three replicas behind HAProxy fails no request', async () => {
  const findings = await rolling({ rounds: 2, random: seededRandom(testSeed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${testSeed}`);
});
