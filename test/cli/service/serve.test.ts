import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setInterval as every } from 'node:timers/promises';
import { storePath } from '../../../src/config/config.ts';
import { run, withFolder, withStoreFolder } from '../../../testkit/processes/program.ts';
import { type Server, serve } from '../../../testkit/processes/server.ts';

const CHOSEN = 'chosen-by-the-operator-0123456789abcdef';
const TOKEN = /pst_[0-9A-Za-z]{38}/;

/** The status that the service returns for this token. */
async function statusFor({ url }: Server, token: string): Promise<number> {
  const response = await fetch(`${url}/plants`, { headers: { authorization: `Bearer ${token}` } });
  await response.text();
  return response.status;
}

/** Runs the work against a service, then stops it. */
async function whileServing(
  folder: string,
  env: Record<string, string>,
  work: (serving: Server) => Promise<void>,
): Promise<void> {
  const serving = await serve(folder, env);
  try {
    await work(serving);
  } finally {
    await serving.stop();
  }
}

test('the first start says where console, API and docs are and shows a token; later starts show how to create another', async () => {
  await withFolder(async (folder) => {
    let token = '';
    await whileServing(folder, {}, async (serving) => {
      for (const page of ['/console', '/docs']) assert.ok(serving.greeting.includes(serving.url + page));
      token = TOKEN.exec(serving.greeting)?.[0] ?? '';
      assert.equal(await statusFor(serving, token), 200);
    });
    await whileServing(folder, {}, async (serving) => {
      assert.doesNotMatch(serving.greeting, TOKEN);
      assert.match(serving.greeting, /Bearer \$TOKEN/);
      assert.equal(await statusFor(serving, token), 200);
      const [, another = ''] = /plant-store (token create .+)/.exec(serving.greeting) ?? [];
      assert.equal(await statusFor(serving, (await run(another.split(' '))).stdout.trim()), 200);
    });
  });
});

test('standard error has only the greeting, and standard output is a log of JSON lines', async () => {
  await withFolder(async (folder) => {
    const serving = await serve(folder);
    const { code, stdout, stderr } = await serving.stop();
    assert.equal(code, 0);
    assert.equal(stderr, serving.greeting);
    assert.ok(!stderr.includes('\u001b'));
    assert.doesNotMatch(stdout, TOKEN);
    for (const line of stdout.trim().split('\n')) JSON.parse(line);
  });
});

test('LOG_FORMAT=pretty writes a log for people, LOG_LEVEL=silent none', async () => {
  await withFolder(async (folder) => {
    const pretty = await (await serve(folder, { LOG_FORMAT: 'pretty' })).stop();
    assert.match(pretty.stdout, /INFO/);
    assert.doesNotMatch(pretty.stdout, /^\{/m);
    const silent = await (await serve(folder, { LOG_LEVEL: 'silent' })).stop();
    assert.equal(silent.stdout, '');
  });
});

test('the curl line of the greeting lists the plants', async (t) => {
  if (spawnSync('curl', ['--version']).error) return t.skip('curl is not installed');
  await withFolder(async (folder) => {
    let token = '';
    await whileServing(folder, {}, async ({ greeting }) => {
      token = TOKEN.exec(greeting)?.[0] ?? '';
      assert.equal(await pasted(greeting), '[]');
    });
    await whileServing(folder, {}, async ({ greeting }) => {
      assert.equal(await pasted(greeting, { TOKEN: token }), '[]');
    });
  });
});

async function pasted(greeting: string, env: Record<string, string> = {}): Promise<string> {
  const line = greeting.split('\n').find((each) => each.includes('curl ')) ?? '';
  const shell = spawn('sh', ['-c', line], { env: { PATH: process.env.PATH, ...env } });
  return text(shell.stdout);
}

test("BOOTSTRAP_TOKEN is admin's token, none is shown, and another value replaces it", async () => {
  await withFolder(async (folder) => {
    await whileServing(folder, { BOOTSTRAP_TOKEN: CHOSEN }, async (serving) => {
      assert.doesNotMatch(serving.greeting, TOKEN);
      assert.ok(!serving.greeting.includes(CHOSEN));
      assert.equal(await statusFor(serving, CHOSEN), 200);
    });
    const file = join(folder, 'token');
    await writeFile(file, `${CHOSEN}-2\n`);
    await whileServing(folder, { BOOTSTRAP_TOKEN_FILE: file }, async (serving) => {
      assert.equal(await statusFor(serving, CHOSEN), 401);
      assert.equal(await statusFor(serving, `${CHOSEN}-2`), 200);
    });
  });
});

test('a token created while the service runs works at once, and stops working at once when revoked', async () => {
  await withFolder(async (folder) => {
    await whileServing(folder, {}, async (serving) => {
      assert.equal((await run(['user', 'create', 'ann', '--data-dir', folder])).code, 0);
      const made = await run(['token', 'create', '--user', 'ann', '--data-dir', folder]);
      assert.equal(await statusFor(serving, made.stdout.trim()), 200);
      const id = /tok_\w+/.exec(made.stderr)?.[0] ?? '';
      assert.equal((await run(['token', 'revoke', id, '--data-dir', folder])).code, 0);
      assert.equal(await statusFor(serving, made.stdout.trim()), 401);
    });
  });
});

test('a start with wrong settings reports each problem on its own line and exits with 2', async () => {
  await withFolder(async (folder) => {
    const { code, stdout, stderr } = await run(['serve', '--port', 'x', '--data-dir', join(folder, 'data')], {
      HOST: 'a b',
      LOG_LEVEL: 'loud',
      BOOTSTRAP_TOKEN: 'tooshort',
    });
    assert.deepEqual([code, stdout], [2, '']);
    const sources = stderr
      .trim()
      .split('\n')
      .map((line) => /^error: (\S+): /.exec(line)?.[1]);
    assert.deepEqual(sources.sort(), ['--port', 'BOOTSTRAP_TOKEN', 'HOST', 'LOG_LEVEL']);
    assert.ok(!stderr.includes('tooshort'));
  });
});

test('a port in use ends the start with 1 and one line', async () => {
  await withFolder(async (folder) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    assert.ok(typeof address === 'object' && address !== null);
    try {
      const { code, stderr } = await run(['serve', '--port', String(address.port), '--data-dir', folder]);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`^error: Port ${address.port} of 127\\.0\\.0\\.1 is in use\\. .*\\n$`));
      assert.deepEqual(await readdir(folder), [], 'a store whose first token nobody was shown');
    } finally {
      other.close();
    }
  });
});

test('a data folder that cannot be created ends the start with 1 and one line', async () => {
  await withFolder(async (folder) => {
    await writeFile(join(folder, 'file'), '');
    const { code, stderr } = await run(['serve', '--port', '0', '--data-dir', join(folder, 'file', 'data')]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: The data folder .* cannot be created: a part of the path is not a folder \(ENOTDIR\)\. .*\n$/,
    );
  });
});

test('a file that is not a store ends the start with 1 and one line', async () => {
  await withFolder(async (folder) => {
    await writeFile(storePath(folder), 'this is not a database, it only lies where one should be');
    const { code, stderr } = await run(['serve', '--port', '0', '--data-dir', folder]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: The store .*plant-store\.db cannot be used: its file is not a database \(SQLite 26: .*\)\. .*restore FILE.*\n$/,
    );
  });
});

test('a store newer than the program ends the start with 1 and one line', async () => {
  await withStoreFolder(async (folder) => {
    const db = new DatabaseSync(storePath(folder));
    db.exec(`INSERT INTO migrations SELECT max(version) + 1, 'later', 'x', 0 FROM migrations`);
    db.close();
    const { code, stderr } = await run(['serve', '--port', '0', '--data-dir', folder]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: The store .*plant-store\.db was created by a newer version of plant-store.*\n$/,
    );
  });
});

test('a second service on the same data folder ends with 1 and one line', async () => {
  await withFolder(async (folder) => {
    await whileServing(folder, {}, async () => {
      const { code, stderr } = await run(['serve', '--port', '0', '--data-dir', folder]);
      assert.equal(code, 1);
      assert.match(stderr, /^error: .+\n$/);
    });
  });
});

for (const [signal, where] of [
  ['SIGTERM', 'the log'],
  ['SIGINT', 'standard error'],
] as const) {
  test(`${signal} stops the service with 0 and two lines in ${where}, even if it arrives several times at once`, async () => {
    await withFolder(async (folder) => {
      const serving = await serve(folder);
      serving.signal(signal);
      serving.signal(signal);
      const { code, stdout, stderr } = await serving.ended;
      assert.equal(code, 0);
      const logged = stdout.match(/(?<="level":30,.*"msg":")stopp(?:ing|ed)/g) ?? [];
      const said = stderr.slice(serving.greeting.length);
      assert.deepEqual(
        [logged, said],
        signal === 'SIGTERM' ? [['stopping', 'stopped'], ''] : [[], 'Stopping.\nStopped.\n'],
      );
    });
  });
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} again while the service drains ends it at once`, async () => {
    await withFolder(async (folder) => {
      const serving = await serve(folder);
      const request = await openRequest(serving);
      serving.signal(signal);
      let hasEnded = false;
      void serving.ended.then(() => {
        hasEnded = true;
      });
      for await (const _ of every(50)) {
        if (hasEnded) break;
        serving.signal(signal);
      }
      const ended = await serving.ended;
      request.destroy();
      assert.equal(ended.signal, signal);
    });
  });
}

/** A request whose body never ends: a draining service waits for it. */
async function openRequest({ url, greeting }: Server) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  const authorization = `Authorization: Bearer ${TOKEN.exec(greeting)?.[0]}`;
  socket.write(
    `POST /plants HTTP/1.1\r\nHost: x\r\n${authorization}\r\nContent-Type: application/json\r\n` +
      'Expect: 100-continue\r\nContent-Length: 10\r\n\r\n',
  );
  // The service has read the head when it asks for the body, and runs the request when the next one is answered.
  await once(socket, 'data');
  await fetch(`${url}/healthz`);
  return socket;
}
