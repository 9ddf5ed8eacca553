// A webhook receiver on Express: SECRET=whsec_… node examples/receiver-express.mjs
import express from 'express';
import { verifyWebhook, WebhookVerificationError } from 'plant-store/client';

const { SECRET, PUBLIC_KEY, PORT = 4000 } = process.env;
// A real receiver keeps the ids with its data, and writes both in one transaction.
const known = new Set();

const app = express();

// The bytes as they arrived, whatever their type. An express.json() for the whole app must come after this
// route: it would parse them first, and what it makes of them cannot be verified.
app.post('/', express.raw({ type: () => true, limit: '64kb' }), async (request, response) => {
  // Without a body there is none to parse, and `request.body` is undefined.
  const body = request.body ?? '';
  const { id, payload } = await verifyWebhook(request.headers, body, SECRET ?? PUBLIC_KEY);
  console.log(known.has(id) ? 'known' : 'new', id, payload);
  known.add(id);
  response.sendStatus(204);
});

// 413 comes from the limit.
app.use((error, _request, response, _next) => {
  console.log('refused:', error.message);
  response.sendStatus(error instanceof WebhookVerificationError ? 401 : (error.status ?? 500));
});

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
