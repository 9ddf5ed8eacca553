import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { before, test } from 'node:test';
import { storePath } from '../../src/config/config.ts';
import { sign } from '../../src/webhooks/sending/signature.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { type Service, startService } from '../../testkit/service/service.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const EXAMPLES = ['http', 'express', 'fastify', 'hono'].map((name) => `receiver-${name}.mjs`);
/** The limit in each example. */
const LIMIT = 64 * 1024;
const BODY = '{"id":9007199254740993,"name":"Alder 🌱","tag":"Alnus"}';

type Sent = { headers: Record<string, string>; body: string | Uint8Array<ArrayBuffer> };

let keys: { secret: string; publicKey: string; privateKey: string };
/** What the service sends when a plant is created. */
let genuine: Sent;

before(async () => {
  const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
  const receiver = await startReceiver();
  try {
    const made = await service.request('POST', '/webhooks', { body: { url: receiver.url } });
    // The API tests check the shape.
    const { secret, publicKey } = succeeded(made, 201) as { secret: string; publicKey: string };
    keys = { secret, publicKey, privateKey: privateKeyIn(service) };
    succeeded(await service.request('POST', '/plants', { body: BODY }), 201);
    const [received] = await receiver.receive(1);
    assert.ok(received);
    const own = Object.entries(received.headers).filter(([name]) =>
      /^(?:webhook|ce|content-type)/.test(name),
    );
    const headers = Object.fromEntries(own.map(([name, value]) => [name, String(value)]));
    genuine = { headers, body: new Uint8Array(received.body) };
  } finally {
    await receiver.stop();
    await service.stop();
  }
});

for (const example of EXAMPLES) {
  for (const [version, setting] of [
    ['v1', () => ({ SECRET: keys.secret })],
    ['v1a', () => ({ PUBLIC_KEY: keys.publicKey })],
  ] as const) {
    test(`${example} accepts what the service sends, each event once, and refuses the rest (${version})`, async () => {
      await using running = await start(example, setting());
      const { url, nextLine } = running;
      const id = genuine.headers['webhook-id'];
      const plant = "{ id: 9007199254740993n, name: 'Alder 🌱', tag: 'Alnus' }";

      assert.equal(await post(url, genuine), 204);
      assert.equal(await nextLine(), `new ${id} ${plant}`);
      assert.equal(await post(url, genuine), 204);
      assert.equal(await nextLine(), `known ${id} ${plant}`);

      assert.equal(await post(url, { ...genuine, body: BODY.replace('993', '994') }), 401);
      assert.equal(
        await post(url, { ...genuine, headers: { ...genuine.headers, 'webhook-id': 'evt_2' } }),
        401,
      );
      assert.equal(await post(url, { headers: {}, body: BODY }), 401);
      assert.equal(await post(url, { headers: {}, body: '' }), 401);

      assert.equal(await post(url, signedAgo(301)), 401);
      assert.equal(await post(url, signedAgo(280)), 204);
      for (const type of [
        'text/plain',
        'application/json; charset=utf-8',
        'application/x-www-form-urlencoded',
      ]) {
        const headers = { ...genuine.headers, 'content-type': type };
        assert.equal(await post(url, { ...genuine, headers }), 204, type);
      }

      const atLimit = signedAgo(0, `"${'x'.repeat(LIMIT - 2)}"`);
      assert.equal(await post(url, atLimit), 204);
      const over = signedAgo(0, `"${'x'.repeat(LIMIT - 1)}"`);
      assert.equal(await post(url, over), 413);
      assert.equal(await post(url, over, 'in chunks'), 413);
      // It still runs.
      assert.equal(await post(url, genuine, 'in chunks'), 204);
    });
  }
}

/** Read from the store: no operation shows it, and only its owner can sign requests that are too old. */
function privateKeyIn(service: Service): string {
  const db = new DatabaseSync(storePath(service.dataDir), { readOnly: true });
  try {
    return String(db.prepare('SELECT private_key FROM webhooks').get()?.private_key);
  } finally {
    db.close();
  }
}

/** A request with the service's signature from this many seconds ago. */
function signedAgo(seconds: number, body = BODY): Sent {
  const id = 'evt_3';
  const timestamp = Math.floor(Date.now() / 1000) - seconds;
  const { secret, privateKey } = keys;
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': sign({ id, timestamp, body, keys: { secrets: [secret], privateKey } }),
  };
  return { headers, body };
}

async function post(url: string, { headers, body }: Sent, how?: 'in chunks'): Promise<number> {
  const init: RequestInit = { method: 'POST', headers, body };
  if (how === 'in chunks') {
    init.body = new Blob([body]).stream();
    init.duplex = 'half';
  }
  const response = await fetch(url, init);
  assert.equal(typeof (await response.text()), 'string');
  return response.status;
}

type Running = AsyncDisposable & {
  url: string;
  /** Its next line on standard output. */
  nextLine(): Promise<string>;
};

/** Runs an example on its own port, with only the PATH from this process's environment. */
async function start(example: string, key: Record<string, string>): Promise<Running> {
  const child = spawn(process.execPath, [join('examples', example)], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, PORT: '0', ...key },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = Promise.all([once(child, 'close'), text(child.stderr)]);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${example} ended: ${(await ended)[1]}`);
    return value;
  };
  return {
    url: await nextLine(),
    nextLine,
    async [Symbol.asyncDispose]() {
      child.kill();
      const [, complaint] = await ended;
      assert.equal(complaint, '');
    },
  };
}
