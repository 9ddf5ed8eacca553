import { test } from 'node:test';
import { answerWhileStarting } from '../../src/http/starting.ts';
import { failed } from '../../testkit/service/answer.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';
import { exchange } from '../../testkit/sockets/raw-client.ts';
import { head } from '../../testkit/sockets/raw-request.ts';

test('while the service starts, each request is refused as unavailable, whatever its header fields', async (t) => {
  const port = await freePort();
  t.after(await answerWhileStarting({ port, host: '127.0.0.1' }));
  for (const field of ['Expect: 100-continue', 'Expect: patience', `X-Long: ${'x'.repeat(20 * 1024)}`]) {
    failed(await exchange(port, head('GET /plants HTTP/1.1', 'Host: localhost', field)), 50302);
  }
});
