import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePlace } from '../../testkit/processes/place.ts';
import { TOKEN } from '../../testkit/processes/server.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';
import { programOf, start } from './program.ts';

const SPANS = programOf('trace.md', 'spans.mjs');

test('spans.mjs prints the trace of a plant that is added, as a tree', async (t) => {
  const place = await makePlace(t);
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const port = await freePort();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://localhost:${port}`,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  };
  const server = await place.serve({ env });
  const collector = start(t, place, server, SPANS.replaceAll('4318', String(port)));
  const webhook = await server.request('POST', '/webhooks', { body: { url: receiver.url } });
  succeeded(webhook, 201);
  // The sender thread is loaded by then. On a busy machine that takes longer than a trace may be quiet.
  succeeded(await server.request('POST', `${webhook.headers.get('location')}/test`), 202);
  await receiver.receive(1);

  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const response = await fetch(`${server.url}/plants`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${TOKEN}`,
      'content-type': 'application/json',
      traceparent: `00-${trace}-00f067aa0ba902b7-01`,
    },
    body: '{"name":"Alder"}',
  });
  assert.equal(response.status, 201);
  await receiver.receive(2);
  // Both threads export what they have. Otherwise each does every few seconds, on a busy machine farther apart.
  await server.stop();

  // The sender thread may export first.
  await exportTo(port, [spanOf('late', 2e9)]);
  await exportTo(port, [spanOf('early', 1e9)]);

  // Three lines are the webhook's, four the test event's. Traces are printed in the order in which they became quiet.
  const lines = (await collector.lines(14)).map((line) => line.replace(/\d+\.\d ms/, '… ms'));
  const begin = lines.indexOf(`trace ${trace}`);
  assert.deepEqual(lines.slice(begin, begin + 4), [
    `trace ${trace}`,
    '  POST /plants  … ms  (201)',
    '    commit  … ms  (1)',
    '    POST webhook  … ms  (204)',
  ]);
  const byHand = lines.indexOf(`trace ${BY_HAND}`);
  assert.deepEqual(lines.slice(byHand + 1, byHand + 3), ['  early  … ms  (-)', '  late  … ms  (-)']);
});

const BY_HAND = '0af7651916cd43dd8448eb211c80319c';

/** @param start in nanoseconds since the Unix epoch */
function spanOf(name: string, start: number) {
  const times = { startTimeUnixNano: String(start), endTimeUnixNano: String(start + 1e6) };
  return { traceId: BY_HAND, spanId: name, name, attributes: [], ...times };
}

async function exportTo(port: number, spans: ReturnType<typeof spanOf>[]): Promise<void> {
  const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  assert.equal((await fetch(`http://127.0.0.1:${port}/v1/traces`, { method: 'POST', body })).status, 200);
}
