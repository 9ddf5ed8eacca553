import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Option } from 'commander';
import { settings } from '../../../src/config/settings.ts';

test("the flag of each setting is read under the setting's name", () => {
  for (const [name, { flag }] of Object.entries(settings)) {
    if (flag !== undefined) assert.equal(new Option(flag).attributeName(), name);
  }
});
