import assert from 'node:assert/strict';
import { constants } from 'node:crypto';
import { createServer as createHttpsServer } from 'node:https';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import {
  createServer,
  getCACertificates,
  setDefaultCACertificates,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls';
import { deliveryTo, senderWith } from '../../../testkit/receivers/sending.ts';
import { selfSigned } from '../../../testkit/sockets/certificate.ts';
import {
  answering,
  eachRequest,
  flood,
  listening,
  OK,
  reply,
  startSocketServer,
} from '../../../testkit/sockets/socket-server.ts';

const NAME = 'plants.example';
const good = selfSigned(NAME);
const expired = selfSigned(NAME, '20210101');
const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
const sender = senderWith({ resolve });
/** Long enough to connect, on a busy machine as well. */
const hasty = senderWith({ resolve, attemptMs: 1_000 });

const usual = getCACertificates('default');
before(() => setDefaultCACertificates([...usual, good.cert, expired.cert]));
after(() => setDefaultCACertificates(usual));

function tlsServer(options: TlsOptions) {
  const server = createServer(options, (socket) => {
    socket.on('error', () => {});
    eachRequest(socket, () => reply(socket, OK));
  });
  server.on('tlsClientError', () => {});
  return listening(server, 'https');
}

function to(port: number, name = NAME) {
  return deliveryTo(`https://${name}:${port}/hook`);
}

/** One TLS handshake after the other, as fast as the client takes part. */
function handshakes(socket: TLSSocket, each: () => void): void {
  socket.on('error', () => {});
  const next = () => {
    each();
    if (!socket.destroyed) socket.renegotiate({}, () => setImmediate(next));
  };
  next();
}

test('a receiver with a trusted certificate for its name gets the delivery', async () => {
  const server = createHttpsServer(good, (request, response) => void response.end(request.headers.host));
  await using receiver = await listening(server, 'https');
  const attempt = await sender.send(to(receiver.port));
  assert.deepEqual([attempt.excerpt, attempt.address], [`${NAME}:${receiver.port}`, '127.0.0.1']);
});

test('a name with a trailing dot is the same name', async () => {
  const server = createHttpsServer(good, (_, response) => void response.end('ok'));
  await using receiver = await listening(server, 'https');
  assert.equal((await sender.send(to(receiver.port, `${NAME}.`))).status, 200);
});

test('a new connection to the same receiver resumes the last TLS session', async () => {
  const reused: boolean[] = [];
  const server = createServer({ ...good, maxVersion: 'TLSv1.2' }, (socket) => {
    reused.push(socket.isSessionReused());
    eachRequest(socket, () => reply(socket, OK, 'end'));
  });
  await using receiver = await listening(server, 'https');
  for (let i = 0; i < 2; i++) assert.equal((await sender.send(to(receiver.port))).status, 200);
  assert.deepEqual(reused, [false, true]);
});

test('after a failure no TLS session is resumed, in case the receiver cannot', async () => {
  const known = new Set<string>();
  const options = { ...good, maxVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET } as const;
  const server = createServer(options, (socket) => {
    socket.on('error', () => {});
    eachRequest(socket, () => reply(socket, OK, 'end'));
  });
  server.on('tlsClientError', () => {});
  server.on('newSession', (id: Buffer, _session: Buffer, done: () => void) => {
    known.add(id.toString('hex'));
    done();
  });
  server.on('resumeSession', (id: Buffer, done: (error: Error | null, session: null) => void) =>
    done(known.has(id.toString('hex')) ? new Error('the store of the sessions is down') : null, null),
  );
  await using receiver = await listening(server, 'https');
  const statuses: unknown[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await sender.send(to(receiver.port))).status);
  assert.deepEqual(statuses, [200, undefined, 200]);
});

const refused: [what: string, options: TlsOptions, code: string][] = [
  ['that nobody vouches for', selfSigned(NAME), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['that has expired', expired, 'CERT_HAS_EXPIRED'],
];
for (const [what, options, code] of refused) {
  test(`a certificate ${what} delivers nothing`, async () => {
    await using server = await tlsServer(options);
    for (let i = 0; i < 2; i++) {
      const attempt = await sender.send(to(server.port));
      assert.deepEqual(
        [attempt.error, attempt.address],
        [`The TLS connection failed (${code}).`, '127.0.0.1'],
      );
    }
  });
}

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`a certificate of another name delivers nothing, however often it is tried (${maxVersion})`, async () => {
    await using server = await tlsServer({ ...good, maxVersion });
    for (let i = 0; i < 3; i++) {
      const attempt = await sender.send(to(server.port, 'other.example'));
      assert.equal(attempt.error, 'The TLS connection failed (ERR_TLS_CERT_ALTNAME_INVALID).');
    }
    assert.equal((await sender.send(to(server.port))).status, 200);
  });
}

test("a certificate is not valid for the name's address", async () => {
  await using server = await tlsServer(good);
  const attempt = await sender.send(deliveryTo(server.url));
  assert.equal(attempt.error, 'The TLS connection failed (ERR_TLS_CERT_ALTNAME_INVALID).');
});

for (const version of ['TLSv1', 'TLSv1.1'] as const) {
  test(`a receiver that supports only ${version} is a failure`, async () => {
    const options = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await using server = await tlsServer({ ...good, ...options });
    assert.match((await sender.send(to(server.port))).error ?? '', /^The TLS connection failed \(.*PROTOCOL/);
  });
}

test('a receiver that does not speak TLS is a failure', async () => {
  await using server = await answering('HTTP/1.1 400 The plain HTTP request was sent to HTTPS port\r\n\r\n');
  const attempt = await sender.send(to(server.port));
  assert.match(attempt.error ?? '', /^The TLS connection failed \(/);
});

test('a receiver with TLS that is addressed without gets nothing', async () => {
  await using server = await tlsServer(good);
  const attempt = await sender.send(deliveryTo(server.url.replace('https:', 'http:')));
  assert.equal(attempt.error, 'The connection was closed before the response was complete.');
});

test('a receiver that closes the connection during the TLS handshake is a failure', async () => {
  await using server = await startSocketServer((socket) => socket.once('data', () => socket.end()));
  assert.equal(
    (await sender.send(to(server.port))).error,
    'The receiver closed the connection while it was being opened.',
  );
});

test('a receiver that resets the connection with the end of the TLS handshake is not said to be refused', async () => {
  await using server = await tlsServer(good);
  await using resetting = await startSocketServer((socket) => {
    const onward = connect(server.port, '127.0.0.1');
    socket.pipe(onward);
    onward.once('data', (flight) => reply(socket, flight, 'reset'));
    socket.on('close', () => onward.destroy());
  });
  assert.equal(
    (await sender.send(to(resetting.port))).error,
    'The receiver closed the connection while it was being opened.',
  );
});

test('a receiver that never ends the TLS handshake costs one deadline', async () => {
  await using server = await startSocketServer(() => {});
  const attempt = await hasty.send(to(server.port));
  assert.equal(attempt.error, 'The receiver did not complete the TLS handshake within 1 s.');
  assert.equal(attempt.address, '127.0.0.1');
});

test('a receiver that floods the TLS handshake is a failure before the deadline', async () => {
  // Requests to begin anew, which a client skips as long as a handshake is under way.
  const hellos = Buffer.concat([Buffer.from([0x16, 3, 3, 0x40, 0]), Buffer.alloc(0x4000)]);
  await using server = await startSocketServer((socket) => socket.once('data', () => flood(socket, hellos)));
  const patient = senderWith({ resolve, attemptMs: 30_000 });
  assert.equal(
    (await patient.send(to(server.port))).error,
    'The receiver sent over 64 KiB besides its response.',
  );
});

test('a receiver that repeats the TLS handshake without end is a failure before the deadline', async () => {
  const server = createServer({ ...good, maxVersion: 'TLSv1.2' }, (socket) => handshakes(socket, () => {}));
  await using receiver = await listening(server, 'https');
  const patient = senderWith({ resolve, attemptMs: 30_000 });
  assert.equal(
    (await patient.send(to(receiver.port))).error,
    'The receiver sent over 64 KiB besides its response.',
  );
});

test('an idle connection whose receiver repeats the TLS handshake without end is closed', async () => {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  let count = 0;
  const head = 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=30\r\ncontent-length: 2\r\n\r\nok';
  const server = createServer({ ...good, maxVersion: 'TLSv1.2' }, (socket) => {
    socket.once('close', () => close());
    eachRequest(socket, () => {
      reply(socket, head);
      handshakes(socket, () => count++);
    });
  });
  await using receiver = await listening(server, 'https');
  assert.equal((await sender.send(to(receiver.port))).status, 200);
  await closed;
  assert.ok(count < 5_000, `${count} handshakes`);
});

test('only HTTP/1.1 is negotiated, whatever the receiver prefers', async () => {
  const { promise, resolve: seen } = Promise.withResolvers<unknown>();
  const server = createServer({ ...good, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
    seen(socket.alpnProtocol);
    eachRequest(socket, () => reply(socket, OK));
  });
  await using receiver = await listening(server, 'https');
  assert.equal((await sender.send(to(receiver.port))).status, 200);
  assert.equal(await promise, 'http/1.1');
});
