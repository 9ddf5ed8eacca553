import { createServer, type ServerResponse } from 'node:http';
import { serve } from './serve.ts';

/**
 * Misbehaving receivers. `/hang` never answers, `/drip` answers a byte a second, `/flood` answers 10 GiB as fast as
 * the sender reads. `GET` returns how many requests each of them got.
 */

const DRIP_MS = 1000;
const FLOOD_BYTES = 10 * 1024 ** 3;
const FLOOD_CHUNK = Buffer.alloc(64 * 1024, 'x');

const requests: Record<string, number> = {};

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(requests));
    return;
  }
  const path = request.url ?? '';
  requests[path] = (requests[path] ?? 0) + 1;
  request.resume();
  if (path === '/drip') drip(response);
  else if (path === '/flood') flood(response);
});
// `/hang` hangs for as long as the sender allows.
server.requestTimeout = 0;
server.timeout = 0;
serve(server);

function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain' });
  response.flushHeaders();
  const timer = setInterval(() => response.write('.'), DRIP_MS);
  response.on('close', () => clearInterval(timer));
}

function flood(response: ServerResponse): void {
  let left = FLOOD_BYTES;
  const pour = () => {
    while (left > 0 && !response.destroyed) {
      left -= FLOOD_CHUNK.length;
      if (!response.write(FLOOD_CHUNK)) return;
    }
    if (left <= 0) response.end();
  };
  response.writeHead(200, { 'content-type': 'text/plain', 'content-length': FLOOD_BYTES });
  response.on('drain', pour).on('error', () => {});
  pour();
}
