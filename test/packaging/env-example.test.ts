import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseEnv } from 'node:util';
import { readConfig } from '../../src/config/config.ts';
import { settings } from '../../src/config/settings.ts';

/** test/docs/reference.test.ts checks that it is up to date. */

const text = readFileSync(join(import.meta.dirname, '..', '..', '.env.example'), 'utf8');
const uncommented = text.replace(/^#(?=[A-Z])/gm, '');

test('.env.example sets nothing until someone removes a #', () => {
  assert.deepEqual({ ...parseEnv(text) }, {});
});

test('without its # every line of .env.example is a setting with its default', () => {
  const env = parseEnv(uncommented);
  assert.deepEqual(
    Object.keys(env).sort(),
    Object.values(settings)
      .map((setting) => setting.env)
      .sort(),
  );
  assert.deepEqual(readConfig(env), readConfig({}));
});

test('systemd and Docker read .env.example like Node: no value has quotes, spaces or a trailing comment', () => {
  for (const line of text.split('\n')) assert.match(line, /^(?:|#|# .*|#?[A-Z][A-Z_]*=[^\s'"#\\$]*)$/);
});
