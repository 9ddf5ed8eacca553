import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type TestContext, test } from 'node:test';
import { connect } from '../../src/cli/api.ts';
import { unanswered } from '../../src/cli/api-failure.ts';
import { type Outcome, run } from '../../testkit/processes/program.ts';
import { failureOf, startRemote } from '../../testkit/processes/remote.ts';
import { selfSigned } from '../../testkit/sockets/certificate.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';

const TOKEN = 'pst_anything';

/** Answers like this, but is not a plant store. Ends with the test. */
async function startStranger(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return `http://127.0.0.1:${address.port}`;
}

function list(url: string): Promise<Outcome> {
  return run(['webhook', 'list'], { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN });
}

test('without a token a verb says how to get one, and exits with 2', async () => {
  for (const token of [{}, { PLANT_STORE_TOKEN: '' }]) {
    const { code, stdout, stderr } = await run(['webhook', 'list'], token);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(
      stderr,
      /^error: No token is set\. Set PLANT_STORE_TOKEN, .*plant-store token create --user NAME\n$/,
    );
  }
});

test('an invalid URL and an invalid token are reported together, and neither is shown', async () => {
  const { code, stderr } = await run(['webhook', 'list', '--url', 'http://u:pass@h'], {
    PLANT_STORE_TOKEN: 'pst_x\npst_y',
  });
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^error: --url: It must be an http or https URL .*\nerror: PLANT_STORE_TOKEN: A token consists .*\n$/,
  );
  assert.doesNotMatch(stderr, /pass@|pst_/);
});

test('where nothing answers, a verb asks whether the service is running', async () => {
  const gone = `http://127.0.0.1:${await freePort()}`;
  assert.equal(
    failureOf(await list(gone)),
    `error: Nothing answers at ${gone}. Is the service running (plant-store serve)? To use another URL: --url.`,
  );
  assert.match(
    failureOf(await list('http://nowhere.invalid')),
    /The host of .* (?:does not resolve|cannot be resolved)/,
  );
});

const strange: readonly { what: string; answer: RequestListener; says: RegExp }[] = [
  {
    what: 'a page',
    answer: (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello'),
    says: /http:\S+ answers 200, but not like a plant store\. .*--url\.$/,
  },
  {
    what: 'a page that reports a missing page',
    answer: (_, response) => response.writeHead(404).end('<p>Not found'),
    says: /answers 404, but not like a plant store/,
  },
  {
    what: 'an error of another kind',
    answer: (_, response) => response.writeHead(500).end('{"error":"internal"}'),
    says: /answers 500, but not like a plant store/,
  },
  {
    what: 'a proxy that cannot reach the service',
    answer: (_, response) => response.writeHead(503).end('<h1>Service Unavailable</h1>'),
    says: /http:\S+ answers 503: a proxy cannot reach the service right now\.$/,
  },
  {
    what: 'JSON of another kind',
    answer: (_, response) => response.writeHead(200).end('[{"name":"x"}]'),
    says: /This version of plant-store does not understand the answer\. Its "\w+" is not a string\.$/,
  },
  {
    what: 'a redirect',
    answer: (_, response) => response.writeHead(302, { location: 'https://example.com/' }).end(),
    says: /redirects to https:\/\/example\.com\/\. Pass the service's own URL/,
  },
  {
    what: 'half an answer',
    answer: (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('[');
      setImmediate(() => response.destroy());
    },
    says: /No complete answer from http:\S+: the connection broke\.$/,
  },
];

for (const { what, answer, says } of strange) {
  test(`${what} instead of an answer is a failure in one line`, async (t) => {
    assert.match(failureOf(await list(await startStranger(t, answer))), says);
  });
}

for (const args of [
  ['delivery', 'list'],
  ['event', 'list'],
  ['plant', 'list'],
  ['token', 'list', '--own'],
  ['webhook', 'list'],
]) {
  test(`an object without members instead of a list is a failure in one line: ${args.join(' ')}`, async (t) => {
    const url = await startStranger(t, (_, response) => response.end('{}'));
    assert.match(
      failureOf(await run(args, { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN })),
      /does not understand the answer\. (?:It|Its "events") is not an array\.$/,
    );
  });
}

test('an export ends when the pages of its list do not advance', async (t) => {
  const url = await startStranger(t, ({ url }, response) => {
    response.setHeader('link', '</plants?cursor=second>; rel="next"');
    const me = { user: 'ann' };
    const plants = [{ id: 1, name: 'Alder', owner: 'ann' }];
    response.end(JSON.stringify(url === '/me' ? me : plants));
  });
  const exported = await run(['plant', 'export'], { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN });
  assert.equal(exported.code, 1);
  assert.equal(exported.stdout, 'id,name,tag\n1,Alder,\n');
  assert.match(exported.stderr, /^error: A page leads to itself:/);
});

test('a redirect does not take the token elsewhere', async (t) => {
  let asked = 0;
  const other = await startStranger(t, (_, response) => {
    asked++;
    response.end();
  });
  const url = await startStranger(t, (_, response) => response.writeHead(307, { location: other }).end());
  failureOf(await list(url));
  assert.equal(asked, 0);
});

test('a missing answer is given up, with a warning that a change may have been made', async (t) => {
  const url = await startStranger(t, () => {});
  const { webhooks } = connect({ url, token: TOKEN }, { deadlineMs: 50 });
  await assert.rejects(webhooks.list(), {
    message: `No complete answer from ${url} within 0.05 s.`,
  });
  await assert.rejects(webhooks.create({ url }), {
    message: `No complete answer from ${url} within 0.05 s. It may or may not have been carried out.`,
  });
});

test('a certificate that is not trusted is reported, and not as a change that may have been made', async (t) => {
  const server = createSecureServer(selfSigned('localhost')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const url = `https://localhost:${address.port}`;
  assert.equal(
    failureOf(await run(['plant', 'create', 'Alder'], { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN })),
    `error: The certificate of ${url} is not accepted (DEPTH_ZERO_SELF_SIGNED_CERT). For an authority of your own, set NODE_EXTRA_CA_CERTS to its file.`,
  );
});

test('a URL with https of a port without TLS is reported as such', async (t) => {
  const url = (await startStranger(t, () => {})).replace('http:', 'https:');
  assert.equal(
    failureOf(await list(url)),
    `error: What listens at ${url} does not speak TLS. Use http:// or another port: --url.`,
  );
});

for (const [code, says] of [
  ['UND_ERR_CONNECT_TIMEOUT', 'No complete answer from URL in time.'],
  ['ETIMEDOUT', 'No complete answer from URL in time. It may or may not have been carried out.'],
  [
    'UND_ERR_HEADERS_TIMEOUT',
    'No complete answer from URL in time. It may or may not have been carried out.',
  ],
  ['EHOSTUNREACH', 'No complete answer from URL: EHOSTUNREACH.'],
] as const) {
  test(`${code} is reported with what became of the request`, () => {
    const error = Object.assign(new Error('x'), { code });
    assert.equal(unanswered({ url: 'URL', token: TOKEN }, 'POST', error).message, says);
  });
}

test('control characters of a stranger do not reach the terminal', async (t) => {
  const url = await startStranger(t, (_, response) =>
    response.writeHead(400).end(JSON.stringify({ error: 40000, message: 'a\u001b[31mb' })),
  );
  assert.equal(failureOf(await list(url)), 'error: a\\u{1b}[31mb (error 40000)');
});

test('a refused token, and one without the scope, are explained', async (t) => {
  const { service, env } = await startRemote(t);
  const unknown = await run(['webhook', 'list'], { ...env, PLANT_STORE_TOKEN: 'x'.repeat(40) });
  assert.match(
    failureOf(unknown),
    /^error: .+ \(error 40101\) The token is from PLANT_STORE_TOKEN\. .*token create --user NAME\. To save it: plant-store login$/,
  );
  const token = await service.tokenFor('ann', { scopes: ['webhooks:read'] });
  assert.match(
    failureOf(await run(['webhook', 'create', 'https://example.com/'], { ...env, PLANT_STORE_TOKEN: token })),
    /^error: .*webhooks:write.* \(error 40300\)$/,
  );
});

test('flags win over the environment', async (t) => {
  const { service } = await startRemote(t);
  const env = { PLANT_STORE_URL: 'http://127.0.0.1:1', PLANT_STORE_TOKEN: 'wrong' };
  const flags = ['--url', `${service.url}/`, '--token', service.token];
  assert.equal((await run(['webhook', 'list', ...flags], env)).code, 0);
});
