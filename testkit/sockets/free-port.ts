import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { type EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give out: no server on port 0, such as another test's receiver, gets it meanwhile. */
const [FROM, TO] = [20_000, 30_000];

/** A port where nothing listens. No other call, in any process, returns it as long as this process lives. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, TO);
    // The port of the same number for UDP, which nobody needs, shows the others that it is taken.
    const mark = createSocket('udp4').unref().bind(port, '127.0.0.1');
    if (!(await isListening(mark))) continue;
    const probe = createServer().listen(port, '127.0.0.1');
    if (!(await isListening(probe))) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}

function isListening(socket: EventEmitter): Promise<boolean> {
  return once(socket, 'listening').then(
    () => true,
    () => false,
  );
}
