import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { ids } from '../../../bench/postgres/ids.ts';
import { seededRandom } from '../../../testkit/random/seeded.ts';

test('when answers are lost, no id is assigned twice, and no plant is deleted by mistake', async () => {
  const seed = randomInt(2 ** 31);
  const findings = await ids({ rounds: 2_000, random: seededRandom(seed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${seed}`);
});
