import assert from 'node:assert/strict';
import { test } from 'node:test';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { ids } from '../../../bench/postgres/ids.ts';
import { seededRandom, testSeed } from '../../../testkit/random/seeded.ts';

test('when answers are lost, no id is assigned twice, and no plant is deleted by mistake', async () => {
  const findings = await ids({ rounds: 2_000, random: seededRandom(testSeed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${testSeed}`);
});
