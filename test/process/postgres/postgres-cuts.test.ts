import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { cuts } from '../../../bench/postgres/cuts.ts';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { seededRandom } from '../../../testkit/random/seeded.ts';

test('creates retried after the network broke around their commits take effect once', async () => {
  const seed = randomInt(2 ** 31);
  const findings = await cuts({ rounds: 30, random: seededRandom(seed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${seed}`);
});
