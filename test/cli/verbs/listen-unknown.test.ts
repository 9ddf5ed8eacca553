import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { startReceiver } from '../../../testkit/receivers/receiver.ts';
import { watch } from '../watch.ts';

const KNOWN =
  '{"id":"evt_2","type":"plant.created","createdAt":"2026-11-21T09:00:00.000Z","plant":{"id":7,"name":"Alder"}}';
const UNKNOWN = '{"id":"evt_1","type":"plant.watered","litres":3,"by":"\u202eann"}';

/** Settings for a service of a later version: it sends an event that this version does not know, then another. */
async function startLater(t: TestContext): Promise<Record<string, string>> {
  const service = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`id: a\nevent: plant.watered\ndata: ${UNKNOWN}\n\n`);
    response.write(`id: b\nevent: plant.created\ndata: ${KNOWN}\n\n`);
  });
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  t.after(() => {
    service.closeAllConnections();
    service.close();
  });
  const address = service.address();
  assert.ok(typeof address === 'object' && address !== null);
  return { PLANT_STORE_URL: `http://127.0.0.1:${address.port}`, PLANT_STORE_TOKEN: 'x' };
}

/** The first two lines of a `listen` that Ctrl+C then ends. */
async function linesOf(env: Record<string, string>, ...flags: string[]): Promise<string[]> {
  const listening = watch(['listen', ...flags], env);
  const lines = await listening.lines(2);
  listening.signal('SIGINT');
  assert.equal((await listening.ended).code, 130);
  return lines;
}

const SHOWN = UNKNOWN.replace('\u202e', '\\u{202e}');

test('an event of an unknown type is printed unchanged, and the next one follows', async (t) => {
  const env = await startLater(t);
  const known = '2026-11-21T09:00:00.000Z  evt_2  7  Alder';
  assert.deepEqual(await linesOf(env), [SHOWN, known]);
  assert.deepEqual(await linesOf(env, '--json'), [UNKNOWN, KNOWN]);
});

for (const flags of [[], ['--json']]) {
  test(`an event of an unknown type is not forwarded, and listen says so: ${JSON.stringify(flags)}`, async (t) => {
    const env = await startLater(t);
    const receiver = await startReceiver();
    t.after(() => receiver.stop());
    const listening = watch(['listen', '--forward-to', receiver.url, ...flags], env);
    const [request] = await receiver.receive(1);
    assert.equal(request?.headers['webhook-id'], 'evt_2');
    const [first] = await listening.lines(2);
    listening.signal('SIGINT');
    const { code, stdout, stderr } = await listening.ended;
    assert.equal(code, 130);
    const note = '-> not forwarded: This version of plant-store does not know this type of event.';
    assert.equal(first, flags.length === 0 ? `${SHOWN}  ${note}` : UNKNOWN);
    assert.ok((flags.length === 0 ? stdout : stderr).includes(`${note}\n`));
    assert.equal(receiver.received.length, 1);
  });
}
