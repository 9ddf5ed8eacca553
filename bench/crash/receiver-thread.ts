import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { parentPort, workerData } from 'node:worker_threads';
import { Webhook } from 'standardwebhooks';
import { seededRandom } from './random.ts';
import type { Receipt, ReceiverReport, ToReceiver } from './receiver.ts';

/** A receiver as they are: it mostly answers, and at times fails, breaks the connection or hangs. */

const MOODS = { fail: 0.03, reset: 0.005, hang: 0.0005 };

if (!parentPort) throw new Error('The receiver runs in a worker thread');
const port = parentPort;
const random = seededRandom(workerData);
const receipts = new Map<string, Receipt>();
const counts = { attempts: 0, failed: 0, reset: 0, hung: 0, badSignatures: 0 };
let webhook: Webhook | undefined;
let isCalm = false;

port.on('message', (message: ToReceiver) => {
  if (message === 'report') {
    const report: ReceiverReport = { receipts, counts };
    port.postMessage(report);
  } else if (message === 'calm') {
    isCalm = true;
  } else {
    webhook = new Webhook(message.secret);
  }
});

const server = createServer(receive);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') port.postMessage(`http://127.0.0.1:${address.port}/`);
});

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    answer(request, await text(request), response);
  } catch {
    // The service was killed in the middle of the request.
    response.destroy();
  }
}

function answer(request: IncomingMessage, body: string, response: ServerResponse): void {
  counts.attempts++;
  if (!isGenuine(request, body)) counts.badSignatures++;
  const mood = isCalm ? 1 : random();
  if (mood < MOODS.hang) {
    counts.hung++;
  } else if (mood < MOODS.hang + MOODS.reset) {
    counts.reset++;
    request.socket.resetAndDestroy();
  } else if (mood < MOODS.hang + MOODS.reset + MOODS.fail) {
    counts.failed++;
    response.writeHead(500).end();
  } else {
    accept(String(request.headers['webhook-id']), body);
    response.writeHead(204).end();
  }
}

function isGenuine(request: IncomingMessage, body: string): boolean {
  try {
    // Node joins repeated fields, so that each of the three is a string.
    webhook?.verify(body, request.headers as Record<string, string>);
    return webhook !== undefined;
  } catch {
    return false;
  }
}

function accept(event: string, body: string): void {
  const earlier = receipts.get(event);
  if (!earlier) receipts.set(event, { body, times: 1, isSteady: true });
  else
    receipts.set(event, {
      body,
      times: earlier.times + 1,
      isSteady: earlier.isSteady && earlier.body === body,
    });
}
