import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { http as limits } from '../../../src/limits.ts';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';
import { openRaw, type RawConnection } from '../../../testkit/sockets/raw-client.ts';
import type { RawAnswer } from '../../../testkit/sockets/raw-framing.ts';
import { head, usual } from '../../../testkit/sockets/raw-request.ts';

const CLIENTS = 3 * limits.leastRoom;
const PLANTS = 400;

const service = await startService();
after(() => service.stop());

const fields = usual(service);
const body = JSON.stringify({ name: 'Alder', tag: 'x'.repeat(255) });
await Promise.all(Array.from({ length: PLANTS }, () => service.request('POST', '/plants', { body })));

/** Sends requests without a pause until it is told to stop; shows each answer. */
async function hammer(connection: RawConnection, path: string, shown: (answer: RawAnswer) => boolean) {
  for (let goesOn = true; goesOn; ) {
    await connection.send(head(`GET ${path} HTTP/1.1`, ...fields));
    goesOn = shown(await connection.answer());
  }
}

test('every request of a burst is answered', async () => {
  const connections = await Promise.all(Array.from({ length: CLIENTS }, () => openRaw(service.port)));
  await Promise.all(connections.map(({ send }) => send(head('GET /plants?limit=1 HTTP/1.1', ...fields))));
  for (const connection of connections) {
    succeeded(await connection.answer(), 200);
    connection.close();
  }
});

test('requests beyond the capacity are refused with 50300 at once, and all others are answered', async () => {
  const connections = await Promise.all(Array.from({ length: CLIENTS }, () => openRaw(service.port)));
  const counts = { answered: 0, refused: 0 };
  let answeredAfter = 0;
  const enough = () => counts.refused >= CLIENTS && answeredAfter >= 10;
  let healthy: Promise<unknown> | undefined;
  await Promise.all(
    connections.map((connection) =>
      hammer(connection, `/events?limit=${PLANTS}`, (answer) => {
        if (answer.status === 200) {
          counts.answered++;
          if (counts.refused > 0) answeredAfter++;
        } else {
          failed(answer, 50300);
          assert.equal(answer.headers.get('retry-after'), String(limits.retryAfterSeconds));
          counts.refused++;
          // In the middle of the load.
          healthy ??= Promise.all(
            ['/healthz', '/readyz'].map(async (path) => succeeded(await service.request('GET', path), 200)),
          );
        }
        return !enough();
      }),
    ),
  );
  await healthy;
  for (const connection of connections) connection.close();
  assert.ok(counts.answered > 0);
});

test('after an overload, occasional requests are answered at once', async () => {
  for (let i = 0; i < 20; i++) succeeded(await service.request('GET', '/plants?limit=1'), 200);
});
