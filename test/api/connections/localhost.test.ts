import assert from 'node:assert/strict';
import dns from 'node:dns';
import { test } from 'node:test';
import { startService } from '../../../testkit/service/service.ts';

type Lookup = (name: string, options: { all?: boolean }, done: (...found: unknown[]) => void) => void;

test('a name with two addresses, such as localhost, opens one server', async (t) => {
  const lookup: Lookup = (name, { all }, done) => {
    const found = name === 'localhost' ? ['127.0.0.1', '127.0.0.2'] : [name];
    const addresses = found.map((address) => ({ address, family: 4 }));
    if (all) done(null, addresses);
    else done(null, found[0], 4);
  };
  t.mock.method(dns, 'lookup', lookup);
  const service = await startService({ HOST: 'localhost' });
  t.after(() => service.stop());
  const answer = await fetch(`http://127.0.0.1:${service.port}/healthz`);
  assert.equal(answer.status, 200);
  await assert.rejects(fetch(`http://127.0.0.2:${service.port}/healthz`), { message: 'fetch failed' });
});
