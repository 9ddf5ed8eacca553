// A webhook receiver on Hono: SECRET=whsec_… node examples/receiver-hono.mjs
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { verifyWebhook, WebhookVerificationError } from 'plant-store/client';

const { SECRET, PUBLIC_KEY, PORT = 4000 } = process.env;
// A real receiver keeps the ids with its data, and writes both in one transaction.
const known = new Set();

const app = new Hono();
const limit = bodyLimit({ maxSize: 64 * 1024, onError: (context) => context.body(null, 413) });

app.post('/', limit, async (context) => {
  // The bytes as they arrived: what `context.req.json()` makes of them cannot be verified.
  const body = new Uint8Array(await context.req.arrayBuffer());
  const { id, payload } = await verifyWebhook(context.req.raw.headers, body, SECRET ?? PUBLIC_KEY);
  console.log(known.has(id) ? 'known' : 'new', id, payload);
  known.add(id);
  return context.body(null, 204);
});

app.onError((error, context) => {
  console.log('refused:', error.message);
  return context.body(null, error instanceof WebhookVerificationError ? 401 : 500);
});

serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`);
});
