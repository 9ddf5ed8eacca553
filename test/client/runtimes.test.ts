import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startService } from '../../testkit/service/service.ts';

const PROGRAM = join(import.meta.dirname, 'any-runtime.ts');

for (const [name, program, ...args] of [
  ['Node', process.execPath],
  ['Deno', 'deno', 'run', '--no-config', '--no-lock', '--allow-env', '--allow-net'],
  ['Bun', 'bun', 'run'],
] as const) {
  const isMissing = spawnSync(program, ['--version']).status !== 0;
  test(`the client behaves the same in ${name}`, {
    skip: isMissing && `${name} is not on this machine`,
  }, async (t) => {
    const service = await startService();
    t.after(() => service.stop());
    const { PATH = '', HOME = '' } = process.env;
    const env = { PATH, HOME, PLANT_STORE_URL: service.url, PLANT_STORE_TOKEN: service.token };
    const { stdout } = await promisify(execFile)(program, [...args, PROGRAM], { env, timeout: 30_000 });
    assert.deepEqual(JSON.parse(stdout), {
      plants: ['bigint -9223372036854775808 Ä ß 🌱', 'number 7 Ä ß 🌱', 'bigint 9007199254740993 Ä ß 🌱'],
      failures: [40401, 404, 'undefined', 'undefined', 'Error: gone home'],
      stream: ['Streamed'],
      webhook: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    });
  });
}
