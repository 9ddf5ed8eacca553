import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Pool } from 'undici';
import type { LoopOrder } from '../harness/undici-loop.ts';
import { serve } from './serve.ts';

/**
 * The limit for a sender: a loop around undici that sends one and the same request, so many at a time, and reads
 * the answers. It looks up, signs and records nothing. Each POST to it says what to send; the answer comes when all
 * is sent.
 */

serve(
  createServer(async (request, response) => {
    // Written by `harness/undici-loop.ts`.
    const order = (await json(request)) as LoopOrder;
    await sendAll(order);
    response.writeHead(204).end();
  }),
);

async function sendAll({ url, requests, concurrency, headers, body }: LoopOrder): Promise<void> {
  const { origin, pathname: path } = new URL(url);
  const pool = new Pool(origin, { connections: concurrency });
  let left = requests;
  const lane = async () => {
    while (left-- > 0) {
      const answer = await pool.request({ path, method: 'POST', headers, body });
      if (answer.statusCode !== 204) throw new Error(`The receiver answered ${answer.statusCode}`);
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  await pool.close();
}
