import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzz } from './runner.ts';

/** The same requests in every run; `npm run fuzz` generates new ones. */
const SEED = 1;

for (const [store, cases] of [
  ['sqlite', 10_000],
  ['postgres', 3_000],
] as const) {
  test(`${cases} generated requests are answered according to the contract and the document (${store})`, async () => {
    const { checked, failures } = await fuzz({ cases, seed: SEED, store });
    const repeat = `Repeat it with: npm run fuzz -- --cases ${cases} --seed ${SEED} --store ${store}`;
    if (failures.length > 0) assert.fail(`${failures.join('\n\n')}\n\n${repeat}`);
    assert.ok(checked >= cases, `${checked} cases`);
  });
}
