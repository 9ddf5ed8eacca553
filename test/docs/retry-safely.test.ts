import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makePlace } from '../../testkit/processes/place.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';
import { programOf, start } from './program.ts';

/** Runs the program of the page about retries, unchanged, against a service that is killed. */

const ADD = programOf('retry-safely.md', 'add.mjs');
const COUNT = 300;

test('add.mjs adds every line once, although the service is killed twice, and prints the same when run again', async (t) => {
  const place = await makePlace(t);
  const names = Array.from({ length: COUNT }, (_, n) => `Plant ${n}`);
  writeFileSync(join(place.folder, 'plants.txt'), `${names.join('\n')}\n`);
  let server = await place.serve({ env: { PORT: String(await freePort()) } });
  const run = () => start(t, place, server, ADD, { args: ['plants.txt'] });

  const program = run();
  for (const lines of [50, 150]) {
    await program.lines(lines);
    await server.kill();
    server = await place.serve({ env: { PORT: String(server.port) } });
  }
  const first = await program.ended;
  assert.deepEqual([first.code, first.lines.length], [0, COUNT]);

  const again = await run().ended;
  assert.deepEqual(again.lines, first.lines);
  assert.deepEqual(
    again.lines,
    names.map((name, n) => `201 /plants/${n + 1} ${name}`),
  );
  const rows = place.read(
    'SELECT (SELECT count(*) FROM plants) AS plants, (SELECT count(*) FROM events) AS events',
  );
  assert.deepEqual({ ...rows[0] }, { plants: BigInt(COUNT), events: BigInt(COUNT) });
});
