import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Pool } from 'undici';
import { newKeyPair, newSecret, sign } from '../../src/webhooks/sending/signature.ts';
import type { LoopOrder } from '../servers/undici-loop.ts';
import { serve } from './serve.ts';

/**
 * The limit for a sender: a loop around undici that sends the same request again and again, a given number at a time,
 * and reads the responses. It does no lookups, records nothing, and signs only if told to. Each POST to it says what
 * to send; the response follows when all is sent.
 */

serve(
  createServer(async (request, response) => {
    // Written by `servers/undici-loop.ts`.
    const order = (await json(request)) as LoopOrder;
    await sendAll(order);
    response.writeHead(204).end();
  }),
);

async function sendAll({ url, requests, concurrency, headers, body, signed }: LoopOrder): Promise<void> {
  const { origin, pathname: path } = new URL(url);
  const pool = new Pool(origin, { connections: concurrency });
  const keys = { secrets: [newSecret(randomBytes)], privateKey: newKeyPair(randomBytes).privateKey };
  let left = requests;
  const headersNow = () => {
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = sign({ id: String(headers['webhook-id']), timestamp, body, keys });
    return { ...headers, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
  };
  const lane = async () => {
    while (left-- > 0) {
      const answer = await pool.request({
        path,
        method: 'POST',
        headers: signed ? headersNow() : headers,
        body,
      });
      if (answer.statusCode !== 204) throw new Error(`The receiver answered ${answer.statusCode}`);
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  await pool.close();
}
