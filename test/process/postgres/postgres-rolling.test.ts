import assert from 'node:assert/strict';
import { test } from 'node:test';
import { violationsIn } from '../../../bench/postgres/findings.ts';
import { rolling } from '../../../bench/postgres/rolling.ts';
import { hasHaproxy } from '../../../bench/postgres/servers/haproxy.ts';
import { seededRandom, testSeed } from '../../../testkit/random/seeded.ts';

const skip = !hasHaproxy() && 'HAProxy is not installed';

test('a rolling restart of three replicas behind HAProxy fails no request', { skip }, async () => {
  const findings = await rolling({ rounds: 2, random: seededRandom(testSeed), isQuick: true });
  assert.deepEqual(violationsIn(findings), [], `seed ${testSeed}`);
});

test('a program that checked nothing does not pass', () => {
  assert.deepEqual(violationsIn({ checks: [], notes: [] }), ['nothing was checked']);
});
