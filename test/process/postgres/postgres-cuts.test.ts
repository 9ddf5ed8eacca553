import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cuts } from '../../../bench/postgres/cuts.ts';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { seededRandom, testSeed } from '../../../testkit/random/seeded.ts';

test('creates retried after the network broke around their commits take effect once', async () => {
  const findings = await cuts({ rounds: 30, random: seededRandom(testSeed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${testSeed}`);
});
