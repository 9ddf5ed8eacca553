import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { addressRules } from '../../src/webhooks/sending/addresses.ts';
import { urlRules } from '../../src/webhooks/sending/target.ts';

test('the reference names every rule about where a webhook may point, and every network that it refuses', () => {
  const page = readFileSync(new URL('../../docs/reference/webhooks.md', import.meta.url), 'utf8');
  const names = [...Object.keys(urlRules), ...Object.keys(addressRules)];
  const networks = Object.values(addressRules).flatMap(({ networks }): readonly string[] => networks);
  assert.deepEqual(
    [...names.map((name) => `\`${name}\``), ...networks].filter((text) => !page.includes(text)),
    [],
  );
});
