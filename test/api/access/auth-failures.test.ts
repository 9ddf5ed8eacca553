import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Answer, failed, succeeded } from '../../../testkit/service/answer.ts';
import { type Service, startService } from '../../../testkit/service/service.ts';

const LIMIT = 5;
const services: Service[] = [];
after(() => Promise.all(services.map((service) => service.stop())));

async function start(env: Record<string, string> = {}): Promise<Service> {
  const service = await startService({
    AUTH_FAILURE_LIMIT: String(LIMIT),
    TRUST_PROXY: '127.0.0.0/8',
    ...env,
  });
  services.push(service);
  return service;
}

const service = await start();

/** `GET /plants` through a proxy, from this address. */
function from(address: string, token: string, by = service): Promise<Answer> {
  return by.request('GET', '/plants', { token, headers: { 'x-forwarded-for': address } });
}

function revokeTokenOf(name: string): Promise<void> {
  return service.beside(async ({ store, runtime }) => {
    const token = (await store.access.tokens()).find(({ user }) => user.name === name);
    assert.ok(await store.access.revokeToken(token?.id ?? '', runtime.clock.now()));
  });
}

async function failOften(address: string, by = service): Promise<void> {
  for (let n = 0; n < LIMIT; n++) failed(await from(address, `guess${n}`, by), 40101);
}

test('an address with too many refused tokens must wait', async () => {
  await failOften('203.0.113.1');
  const answer = await from('203.0.113.1', 'guess');
  failed(answer, 42901, /try again in \d+ s/);
  const wait = Number(answer.headers.get('retry-after'));
  assert.ok(wait > 50 && wait <= 60, `${wait} s`);
  assert.equal(answer.headers.get('www-authenticate'), null);
});

test('a known token still works, and a new one from the same address must wait', async () => {
  const token = await service.tokenFor('ann');
  succeeded(await from('203.0.113.2', token), 200);
  await failOften('203.0.113.2');
  succeeded(await from('203.0.113.2', token), 200);
  failed(await from('203.0.113.2', await service.tokenFor('ann')), 42901);
});

test('a token that was valid still works, even when another is revoked meanwhile', async () => {
  const token = await service.tokenFor('bob');
  await service.tokenFor('another');
  succeeded(await from('203.0.113.3', token), 200);
  await failOften('203.0.113.3');
  await revokeTokenOf('another');
  succeeded(await from('203.0.113.3', token), 200);
});

test('a token that was valid and is revoked is looked up once more, and never again', async () => {
  const token = await service.tokenFor('carol');
  succeeded(await from('203.0.113.4', token), 200);
  await failOften('203.0.113.4');
  await revokeTokenOf('carol');
  failed(await from('203.0.113.4', token), 40101);
  failed(await from('203.0.113.4', token), 42901);
});

test('each address is counted separately', async () => {
  await failOften('203.0.113.5');
  failed(await from('203.0.113.6', 'guess'), 40101);
  succeeded(await from('203.0.113.6', await service.tokenFor('dora')), 200);
});

test('the addresses of an IPv6 /64 are counted together, those of the next are not', async () => {
  for (let n = 0; n < LIMIT; n++) failed(await from(`2001:db8:0:1::${n}`, 'guess'), 40101);
  failed(await from('2001:db8:0:1:ffff::1', 'guess'), 42901);
  failed(await from('2001:db8:0:2::1', 'guess'), 40101);
});

test('an expired token counts, even if it is known', async () => {
  const token = await service.tokenFor('eve', { expiresInMs: -1 });
  for (let n = 0; n < LIMIT; n++) failed(await from('203.0.113.8', token), 40102);
  failed(await from('203.0.113.8', 'guess'), 42901);
});

test('a missing token, an unreadable one, and one without the scope do not count', async () => {
  const lacking = await service.tokenFor('fay', { scopes: ['webhooks:read'] });
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  for (let n = 0; n < LIMIT; n++) {
    failed(await service.request('GET', '/plants', { token: null, headers }), 40100);
    failed(await from('203.0.113.9', 'a b'), 40005);
    failed(await from('203.0.113.9', lacking), 40300);
  }
  failed(await from('203.0.113.9', 'guess'), 40101);
});

test("a client's own X-Forwarded-For is ignored when its proxy is not trusted", async () => {
  const untrusting = await start({ TRUST_PROXY: '' });
  for (let n = 0; n < LIMIT; n++) failed(await from(`203.0.113.${n}`, 'guess', untrusting), 40101);
  failed(await from('198.51.100.1', 'guess', untrusting), 42901);
});

test('no address must wait when the limit is 0', async () => {
  const unlimited = await start({ AUTH_FAILURE_LIMIT: '0' });
  for (let n = 0; n < 400; n++) failed(await from('203.0.113.1', 'guess', unlimited), 40101);
});

test('300 a minute is the limit unless another is set', async () => {
  const usual = await start({ AUTH_FAILURE_LIMIT: '' });
  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => from('::1', `guess${n}`, usual)));
  for (let n = answers.length; n < 300; n++) failed(await from('::1', 'guess', usual), 40101);
  failed(await from('::1', 'guess', usual), 42901);
});
