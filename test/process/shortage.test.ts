import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { makePlace } from '../../testkit/processes/place.ts';
import { TOKEN } from '../../testkit/processes/server.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { eventually } from '../../testkit/service/eventually.ts';
import { ownerOf } from '../../testkit/service/owner.ts';

test('without free file handles deliveries wait, at the cost of no attempt and of one line in the log', {
  skip: process.platform !== 'linux' && 'only Linux changes the limits of a running process',
}, async (t) => {
  const place = await makePlace(t);
  const receiver = await startReceiver();
  t.after(receiver.stop);
  // Each delivery needs a new connection.
  receiver.usually({ status: 204, headers: { connection: 'close' } });
  const logFile = join(place.folder, 'log');
  const server = await place.serve({
    // A second attempt would come too late.
    env: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_RETRY_SCHEDULE: '0s', LOG_FILE: logFile },
    through: ['sh', '-c', 'exec "$@" >"$LOG_FILE"', 'sh'],
  });
  const owner = ownerOf(server, TOKEN);
  const webhook = await owner.subscribe(receiver);
  await owner.create(1);
  await owner.settled(webhook);
  const log = () => readFile(logFile, 'utf8');

  limitFiles(server.pid, '3');
  await owner.create(3);
  await eventually('line in the log', async () => (await log()).includes('EMFILE') || undefined);
  limitFiles(server.pid, '1024');
  await owner.settled(webhook);

  const attempts = (await owner.deliveries(webhook)).map((delivery) => [delivery.state, delivery.attempts]);
  assert.deepEqual(attempts, Array(4).fill(['delivered', 1]));
  assert.equal((await log()).match(/EMFILE.*deliveries wait/g)?.length, 1);
});

/** Open files stay open. */
function limitFiles(pid: number, most: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${most}:`]);
}
