// A webhook receiver on node:http: SECRET=whsec_… node examples/receiver-http.mjs
import { createServer } from 'node:http';
import { verifyWebhook, WebhookVerificationError } from 'plant-store/client';

const { SECRET, PUBLIC_KEY, PORT = 4000 } = process.env;
const LIMIT = 64 * 1024;
// A real receiver keeps the ids with its data, and writes both in one transaction.
const known = new Set();

async function receive(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    // Read and discard what exceeds the limit, so that the sender sees the answer.
    size += chunk.length;
    if (size <= LIMIT) chunks.push(chunk);
  }
  if (size > LIMIT) return 413;

  const body = Buffer.concat(chunks);
  const { id, payload } = await verifyWebhook(request.headers, body, SECRET ?? PUBLIC_KEY);
  console.log(known.has(id) ? 'known' : 'new', id, payload);
  known.add(id);
  return 204;
}

const server = createServer((request, response) => {
  receive(request)
    .catch((error) => {
      console.log('refused:', error.message);
      return error instanceof WebhookVerificationError ? 401 : 500;
    })
    .then((status) => response.writeHead(status).end());
});
server.listen(PORT, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
