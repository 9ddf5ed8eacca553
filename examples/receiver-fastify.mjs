// A webhook receiver on Fastify: SECRET=whsec_… node examples/receiver-fastify.mjs
import Fastify from 'fastify';
import { verifyWebhook, WebhookVerificationError } from 'plant-store/client';

const { SECRET, PUBLIC_KEY, PORT = 4000 } = process.env;
// A real receiver keeps the ids with its data, and writes both in one transaction.
const known = new Set();

const app = Fastify({ bodyLimit: 64 * 1024 });

// The bytes as they arrived, whatever their type: what Fastify's JSON parser makes of them cannot be verified.
// In a larger app, register this and the route as a plugin, so that other routes keep their parsers.
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request, body) => body);

app.post('/', async (request, reply) => {
  const body = request.body ?? '';
  const { id, payload } = await verifyWebhook(request.headers, body, SECRET ?? PUBLIC_KEY);
  console.log(known.has(id) ? 'known' : 'new', id, payload);
  known.add(id);
  return reply.code(204).send();
});

// 413 comes from the limit.
app.setErrorHandler((error, _request, reply) => {
  console.log('refused:', error.message);
  return reply.code(error instanceof WebhookVerificationError ? 401 : (error.statusCode ?? 500)).send();
});

console.log(await app.listen({ port: Number(PORT), host: '127.0.0.1' }));
