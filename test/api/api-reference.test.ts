import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failed } from '../harness/answer.ts';
import { startService } from '../harness/service.ts';

test("the stock page of the reference's library is not served: it shows another service", async (t) => {
  const service = await startService();
  t.after(() => service.stop());
  const answerTo = (name: string, method = 'GET') =>
    service.request(method, `/docs/api/static/${name}`, { token: null });
  for (const name of ['', 'index.html', '%69ndex.html', 'index.html?x', '/', '/index.html']) {
    failed(await answerTo(name), 40400);
    assert.equal((await answerTo(name, 'HEAD')).status, 404, name);
  }
  assert.equal((await answerTo('swagger-ui-bundle.js')).status, 200);
});
