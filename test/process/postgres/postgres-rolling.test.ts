import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { rolling } from '../../../bench/postgres/rolling.ts';
import { seededRandom } from '../../../testkit/random/seeded.ts';

test('a rolling restart of three replicas behind HAProxy fails no request', async () => {
  const seed = randomInt(2 ** 31);
  const findings = await rolling({ rounds: 2, random: seededRandom(seed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${seed}`);
});
