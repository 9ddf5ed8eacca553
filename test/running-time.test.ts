import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startWatch } from '../testkit/service/running-time.ts';

test('the stopwatch counts waiting, and leaves out what held the process up', async () => {
  using watch = startWatch();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  assert.ok(watch.ms() <= 100, `${watch.ms()} ms of being held up`);
  const [begun, before] = [performance.now(), watch.ms()];
  await pause(300);
  const counted = watch.ms() - before;
  assert.ok(counted > 40 && counted <= performance.now() - begun, `${counted} ms of waiting`);
});
