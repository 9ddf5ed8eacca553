import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

/** A receiver in this process. */
export type Receiver = {
  /** Ends with a slash; the rest is `Received.path`. */
  url: string;
  /** Stops listening and closes every connection. */
  down(): Promise<void>;
  /** Listens again, on the same port. */
  up(): Promise<void>;
};

/** A complete request. */
export type Received = {
  /** After the first slash. */
  path: string;
  /** The event's id. */
  event: string;
  body: string;
  request: IncomingMessage;
  response: ServerResponse;
};

/** Starts a receiver on an address of this machine; `receive` answers. */
export async function startReceiver(
  receive: (received: Received) => void,
  host = '127.0.0.1',
): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    try {
      const body = await text(request);
      const path = request.url?.slice(1) ?? '';
      receive({ path, event: String(request.headers['webhook-id']), body, request, response });
    } catch {
      // The service was killed within the request.
      response.destroy();
    }
  });

  async function listen(port: number): Promise<number> {
    server.listen(port, host);
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('The receiver has no port');
    return address.port;
  }

  const port = await listen(0);
  return {
    url: `http://${host}:${port}/`,
    async down() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
    async up() {
      await listen(port);
    },
  };
}

/** Whether a request has a valid signature, by the public `standardwebhooks` package. */
export function createVerifier(secret: string): (received: Received) => boolean {
  const webhook = new Webhook(secret);
  return ({ request, body }) => {
    try {
      // Node joins repeated fields, so each of the three is a string.
      webhook.verify(body, request.headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  };
}
