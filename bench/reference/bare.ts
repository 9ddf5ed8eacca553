import { createServer } from 'node:http';
import { serve } from './serve.ts';

/**
 * The limit: what node:http itself can answer. It returns the same 20 plants for every request, reads no body and
 * uses no store.
 */

const PLANTS = 20;
const answer = Buffer.from(
  JSON.stringify(Array.from({ length: PLANTS }, (_, i) => ({ name: `Plant ${i}`, tag: `Species ${i}` }))),
);
const headers = { 'content-type': 'application/json', 'content-length': answer.length };

serve(
  createServer((request, response) => {
    request.resume();
    response.writeHead(200, headers);
    response.end(answer);
  }),
);
