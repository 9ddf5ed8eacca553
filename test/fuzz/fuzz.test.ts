import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { fuzz } from './runner.ts';

const CASES = 10_000;

test('10 000 generated requests are answered as the contract and the document say', async () => {
  const seed = randomInt(2 ** 31);
  const { checked, failures } = await fuzz({ cases: CASES, seed });
  const repeat = `Repeat it with: npm run fuzz -- --cases ${CASES} --seed ${seed}`;
  if (failures.length > 0) assert.fail(`${failures.join('\n\n')}\n\n${repeat}`);
  assert.ok(checked >= CASES, `${checked} cases`);
});
