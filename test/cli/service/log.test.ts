import assert from 'node:assert/strict';
import { type StdioOptions, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { test } from 'node:test';

const SOURCE = new URL('../../../src/cli/service/log.ts', import.meta.url).href;
const FULL = '/dev/full';

for (const format of ['json', 'pretty']) {
  test(`all lines logged before a kill -9 are there, in order, as ${format}`, () => {
    const { signal, stdout } = logLines(format, `process.kill(process.pid, 'SIGKILL');`);
    assert.equal(signal, 'SIGKILL');
    assert.deepEqual(
      stdout.match(/line \d+/g),
      Array.from({ length: 100 }, (_, i) => `line ${i + 1}`),
    );
  });

  test(`a log as ${format} that cannot be written ends nothing`, { skip: !existsSync(FULL) }, (t) => {
    const full = openSync(FULL, 'w');
    t.after(() => closeSync(full));
    const { status, stderr } = logLines(format, `console.error('goes on');`, ['ignore', full, 'pipe']);
    assert.deepEqual({ status, stderr }, { status: 0, stderr: 'goes on\n' });
  });
}

/** What became of a process that logs a hundred lines, and then does the rest. */
function logLines(format: string, rest: string, stdio: StdioOptions = 'pipe') {
  const code = `
    const { createLog } = await import('${SOURCE}');
    const log = await createLog({ logLevel: 'info', logFormat: '${format}' });
    for (let line = 1; line <= 100; line++) log.info('line ' + line);
    ${rest}`;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', code], { stdio, encoding: 'utf8' });
}
