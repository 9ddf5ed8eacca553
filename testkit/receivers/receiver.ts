import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { watchArrivals } from '../service/eventually.ts';

/** A real webhook receiver on loopback that records its requests. */
export type Receiver = {
  url: string;
  port: number;
  /** Every complete request, in order. */
  received: readonly Received[];
  /** Resolves with the first `count` requests; rejects after 20 s. */
  receive(count: number): Promise<Received[]>;
  /** Answers for the next requests, one each; later requests get the usual one. */
  script(...answers: Reply[]): void;
  /** The answer without a script; 204 at first. */
  usually(answer: Reply): void;
  /** Also ends hanging requests. */
  stop(): Promise<void>;
};

export type Received = {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  body: Buffer;
  /** When the request was complete, in milliseconds since the epoch. */
  at: number;
};

/** `hang`: no answer. `reset`: a reset of the connection. A function may do anything. */
export type Reply =
  | { status: number; headers?: Record<string, string>; body?: string | Buffer }
  | 'hang'
  | 'reset'
  | ((request: Received, response: ServerResponse) => void);

/** @param port 0 picks a free one; another one is for a receiver that restarts */
export async function startReceiver(port = 0): Promise<Receiver> {
  const received: Received[] = [];
  const scripted: Reply[] = [];
  const arrivals = watchArrivals();
  let usual: Reply = { status: 204 };

  const server = createServer((request, response) => {
    readRequest(request).then(
      (complete) => {
        received.push(complete);
        reply(scripted.shift() ?? usual, complete, response);
        arrivals.wake();
      },
      () => response.destroy(),
    );
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The receiver has no port.');

  return {
    url: `http://127.0.0.1:${address.port}/hook`,
    port: address.port,
    received,
    receive: (count) =>
      arrivals.until(
        () => (received.length >= count ? received.slice(0, count) : undefined),
        () => `${received.length} of ${count} requests arrived.`,
      ),
    script: (...answers) => void scripted.push(...answers),
    usually: (answer) => {
      usual = answer;
    },
    stop: async () => {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function readRequest(request: IncomingMessage): Promise<Received> {
  const body = await buffer(request);
  const { method = '', url: path = '', headers, rawHeaders } = request;
  return { method, path, headers, rawHeaders, body, at: Date.now() };
}

function reply(answer: Reply, request: Received, response: ServerResponse): void {
  if (answer === 'hang') return;
  if (answer === 'reset') {
    response.socket?.resetAndDestroy();
  } else if (typeof answer === 'function') {
    answer(request, response);
  } else {
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }
}
