import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { succeeded } from '../harness/answer.ts';
import { type Service, startService } from '../harness/service.ts';

const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

let service: Service;
before(async () => {
  service = await startService();
});
after(() => service.stop());

test('a client that sends CONNECT and resets the connection harms nobody', async () => {
  for (let n = 0; n < 20; n++) {
    const socket = connect(service.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(CONNECT, () => socket.resetAndDestroy());
    await once(socket, 'close');
  }
  succeeded(await service.request('GET', '/plants'), 200);
});

test('a client that sends CONNECT and stays does not hold up the stop', async () => {
  const other = await startService();
  const socket = connect({ port: other.port, host: '127.0.0.1', allowHalfOpen: true });
  let answer = '';
  socket.setEncoding('latin1').on('data', (text) => {
    answer += text;
  });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(CONNECT);
  await once(socket, 'end');
  assert.match(answer, /^HTTP\/1\.1 405 .*"error":40500/s);
  await other.stop();
  socket.destroy();
});
