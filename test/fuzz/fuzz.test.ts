import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { fuzz } from './runner.ts';

for (const [store, cases] of [
  ['sqlite', 10_000],
  ['postgres', 3_000],
] as const) {
  test(`${cases} generated requests are answered as the contract and the document say (${store})`, async () => {
    const seed = randomInt(2 ** 31);
    const { checked, failures } = await fuzz({ cases, seed, store });
    const repeat = `Repeat it with: npm run fuzz -- --cases ${cases} --seed ${seed} --store ${store}`;
    if (failures.length > 0) assert.fail(`${failures.join('\n\n')}\n\n${repeat}`);
    assert.ok(checked >= cases, `${checked} cases`);
  });
}
