import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { seededRandom } from '../../bench/crash/random.ts';
import { violationsIn } from '../../bench/postgres/findings.ts';
import { rolling } from '../../bench/postgres/rolling.ts';

test('a rolling restart of three replicas behind HAProxy fails no request', async () => {
  const seed = randomInt(2 ** 31);
  const findings = await rolling({ rounds: 2, random: seededRandom(seed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${seed}`);
});
