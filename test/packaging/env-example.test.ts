import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseEnv } from 'node:util';
import { readConfig } from '../../src/config/config.ts';
import { settings } from '../../src/config/settings.ts';

/** That it is not stale is part of what test/docs/reference.test.ts looks at. */
const text = readFileSync(join(import.meta.dirname, '..', '..', '.env.example'), 'utf8');
const uncommented = text.replace(/^#(?=[A-Z])/gm, '');

test('.env.example sets nothing until somebody removes a #', () => {
  assert.deepEqual({ ...parseEnv(text) }, {});
});

test('without its # every line of .env.example is a setting, with the value that it has anyway', () => {
  const env = parseEnv(uncommented);
  assert.deepEqual(
    Object.keys(env).sort(),
    Object.values(settings)
      .map((setting) => setting.env)
      .sort(),
  );
  assert.deepEqual(readConfig(env), readConfig({}));
});

test('systemd and Docker read .env.example as Node does: no value has quotes, spaces or a comment behind it', () => {
  for (const line of text.split('\n')) assert.match(line, /^(?:|#|# .*|#?[A-Z][A-Z_]*=[^\s'"#\\$]*)$/);
});
