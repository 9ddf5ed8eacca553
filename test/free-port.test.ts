import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { freePort } from '../testkit/sockets/free-port.ts';

test('a free port is returned once, even before anything listens there', async (t) => {
  const port = await freePort();
  const { randomInt } = crypto;
  const drawn = [port, port];
  const { mock } = t.mock.method(
    crypto,
    'randomInt',
    (from: number, to: number) => drawn.pop() ?? randomInt(from, to),
  );
  syncBuiltinESMExports();
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
  });
  assert.notEqual(await freePort(), port);
  assert.deepEqual(drawn, []);
});
