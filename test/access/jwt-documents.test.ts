import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createKeySource } from '../../src/access/jwt-documents.ts';
import { identityProvider as limits } from '../../src/limits.ts';
import { selfSigned } from '../../testkit/sockets/certificate.ts';
import { listening } from '../../testkit/sockets/socket-server.ts';

const DISCOVERY = '/.well-known/openid-configuration';
const NEVER = new AbortController().signal;

type Answer = { status?: number; headers?: Record<string, string>; body?: unknown };

/** A server that answers by path and records the paths. */
async function serve(answers: (origin: string) => Record<string, Answer | 'silence' | 'beginning'>) {
  const asked: string[] = [];
  let origin = '';
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '';
    asked.push(path);
    const answer = answers(origin)[path] ?? { status: 404 };
    if (answer === 'silence') return;
    if (answer === 'beginning') return void response.write('{');
    const { status = 200, headers = {}, body = '' } = answer;
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  const { port, [Symbol.asyncDispose]: stop } = await listening(server, 'http');
  origin = `http://127.0.0.1:${port}`;
  return { origin, asked, [Symbol.asyncDispose]: stop };
}

const keys = { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'x', kid: '1' }] };

describe('the documents of an identity provider', () => {
  test('are found through the issuer, whose path stays and whose last slash is not doubled', async () => {
    for (const path of ['', '/', '/realms/garden', '/realms/garden/']) {
      await using server = await serve((origin) => ({
        [`${path.replace(/\/$/, '')}${DISCOVERY}`]: {
          body: { issuer: origin + path, jwks_uri: `${origin}/keys` },
        },
        '/keys': { body: keys },
      }));
      const fetchKeys = createKeySource({ issuer: server.origin + path, jwksUrl: undefined }, NEVER);
      assert.deepEqual(await fetchKeys(), keys);
      assert.deepEqual(await fetchKeys(), keys);
      assert.equal(server.asked.length, 3);
    }
  });

  test('are found again when the keys have moved', async () => {
    let place = '/a';
    await using server = await serve((origin) => ({
      [DISCOVERY]: { body: { issuer: origin, jwks_uri: origin + place } },
      [place]: { body: keys },
    }));
    const fetchKeys = createKeySource({ issuer: server.origin, jwksUrl: undefined }, NEVER);
    await fetchKeys();
    place = '/b';
    await assert.rejects(fetchKeys(), /status 404/);
    assert.deepEqual(await fetchKeys(), keys);
  });

  test('are not requested when the location of the keys is set', async () => {
    await using server = await serve(() => ({ '/keys?of=garden': { body: keys } }));
    const location = { issuer: 'https://id.example.org', jwksUrl: `${server.origin}/keys?of=garden` };
    assert.deepEqual(await createKeySource(location, NEVER)(), keys);
    assert.deepEqual(server.asked, ['/keys?of=garden']);
  });

  test('of another issuer are refused', async () => {
    for (const issuer of ['https://id.example.org', undefined, '']) {
      await using server = await serve((origin) => ({
        [DISCOVERY]: { body: { issuer, jwks_uri: `${origin}/keys` } },
        '/keys': { body: keys },
      }));
      const fetchKeys = createKeySource({ issuer: server.origin, jwksUrl: undefined }, NEVER);
      await assert.rejects(fetchKeys(), /names the issuer/);
      assert.deepEqual(server.asked, [DISCOVERY]);
    }
  });

  test('of a very long issuer are refused with the beginning of it', async () => {
    await using server = await serve(() => ({ [DISCOVERY]: { body: { issuer: 'x'.repeat(100_000) } } }));
    const fetchKeys = createKeySource({ issuer: server.origin, jwksUrl: undefined }, NEVER);
    await assert.rejects(fetchKeys(), ({ message }: Error) => {
      assert.match(message, /names the issuer "x{200,}, not http/);
      return message.length < 500;
    });
  });

  test('may begin with a byte order mark', async () => {
    await using server = await serve(() => ({ '/keys': { body: `\uFEFF${JSON.stringify(keys)}` } }));
    const location = { issuer: server.origin, jwksUrl: `${server.origin}/keys` };
    assert.deepEqual(await createKeySource(location, NEVER)(), keys);
  });

  test('that do not name a location of keys are refused', async () => {
    for (const jwks_uri of [undefined, 7, '/keys', 'file:///etc/passwd', 'data:application/json,{}']) {
      await using server = await serve((origin) => ({ [DISCOVERY]: { body: { issuer: origin, jwks_uri } } }));
      const fetchKeys = createKeySource({ issuer: server.origin, jwksUrl: undefined }, NEVER);
      await assert.rejects(fetchKeys(), /names no jwks_uri/);
    }
  });

  test('that point from an https issuer to keys over plain http are refused', async () => {
    const { key, cert } = selfSigned('localhost');
    setDefaultCACertificates([...getCACertificates('default'), cert]);
    let issuer = '';
    const asked: string[] = [];
    const server = createSecureServer({ key, cert }, (request, response) => {
      asked.push(request.url ?? '');
      const scheme = asked.length === 1 ? 'http' : 'https';
      const document = { issuer, jwks_uri: `${issuer.replace('https', scheme)}/keys` };
      response.end(JSON.stringify(request.url === '/keys' ? keys : document));
    });
    await using started = await listening(server, 'https');
    issuer = `https://localhost:${started.port}`;
    const fetchKeys = createKeySource({ issuer, jwksUrl: undefined }, NEVER);
    await assert.rejects(fetchKeys(), /as secure as the issuer/);
    assert.deepEqual(await fetchKeys(), keys);
    assert.deepEqual(asked, [DISCOVERY, DISCOVERY, '/keys']);
  });

  test('are not followed through a redirect', async () => {
    await using server = await serve((origin) => ({
      '/keys': { status: 302, headers: { location: `${origin}/other` } },
      '/other': { body: keys },
    }));
    const location = { issuer: server.origin, jwksUrl: `${server.origin}/keys` };
    await assert.rejects(createKeySource(location, NEVER)(), /status 302/);
    assert.deepEqual(server.asked, ['/keys']);
  });

  test('that are not JSON objects, or too large, are refused', async () => {
    for (const [body, message] of [
      ['<html>', /^Error: http:\/\/127\.0\.0\.1:\d+\/keys did not return JSON$/],
      ['null', /an object/],
      ['"keys"', /an object/],
      ['', /JSON/],
      [' '.repeat(limits.documentBytes + 1), /more than 262144 bytes/],
    ] as const) {
      await using server = await serve(() => ({ '/keys': { body } }));
      const location = { issuer: server.origin, jwksUrl: `${server.origin}/keys` };
      await assert.rejects(createKeySource(location, NEVER)(), message);
    }
  });

  test('that do not arrive are given up after a time, and when the service stops', async () => {
    await using server = await serve(() => ({ '/keys': 'silence' }));
    const location = { issuer: server.origin, jwksUrl: `${server.origin}/keys` };
    const message = `${location.jwksUrl} did not answer`;
    const rejects = (fetched: Promise<unknown>, name: string) =>
      assert.rejects(fetched, (error: Error) => {
        assert.equal(error.message, message);
        assert.ok(error.cause instanceof Error && error.cause.name === name);
        return true;
      });
    await rejects(createKeySource(location, NEVER, 50)(), 'TimeoutError');
    const stopped = new AbortController();
    const fetched = createKeySource(location, stopped.signal)();
    stopped.abort();
    await rejects(fetched, 'AbortError');
    await using slow = await serve(() => ({ '/keys': 'beginning' }));
    const jwksUrl = `${slow.origin}/keys`;
    const stalled = createKeySource({ issuer: slow.origin, jwksUrl }, NEVER, 50)();
    await assert.rejects(stalled, { message: `${jwksUrl} did not answer` });
  });
});
