import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in this process that randomly breaks most connections. */
export type BreakingProxy = {
  /** Without a trailing slash. */
  url: string;
  /** How many connections had each fate. */
  counts: Record<Fate, number>;
  stop(): Promise<void>;
};

/**
 * The fate of a connection. `door`: reset before a byte is passed on. `request`: the service gets only a part of the
 * request. `sent`: it gets all of it, and the connection breaks at once. `answer`: the client gets a part of the
 * answer, from nothing to all of it.
 */
export type Fate = 'door' | 'request' | 'sent' | 'answer' | 'whole';

/** How often, of ten connections. */
const OF_TEN: Record<Fate, number> = { door: 1, request: 1, sent: 2, answer: 4, whole: 2 };
// The members of a record are its names.
const fates = (Object.keys(OF_TEN) as Fate[]).flatMap((fate) => Array<Fate>(OF_TEN[fate]).fill(fate));

/** The longest the proxy holds a connection before it breaks it. */
const LONGEST_STALL_MS = 100;

/** Proxies a loopback port, which need not always listen. `random` returns numbers from 0 to 1. */
export async function startBreakingProxy(port: number, random: () => number): Promise<BreakingProxy> {
  const counts: Record<Fate, number> = { door: 0, request: 0, sent: 0, answer: 0, whole: 0 };
  const proxy = createServer({ noDelay: true }, (client) => {
    const fate = fates[Math.floor(random() * fates.length)] ?? 'whole';
    counts[fate]++;
    join(client, port, { fate, random });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    counts,
    async stop() {
      proxy.close();
      await once(proxy, 'close');
    },
  };
}

type Chance = { fate: Fate; random: () => number };

function join(client: Socket, port: number, { fate, random }: Chance): void {
  // `close`, which follows, notifies the other side.
  client.on('error', () => {});
  if (fate === 'door') {
    client.resetAndDestroy();
    return;
  }
  const service = connect({ port, host: '127.0.0.1', noDelay: true });
  service.on('error', () => {});
  client.on('close', () => service.destroy());
  service.on('close', () => client.destroy());

  const pair = { client, service };
  const cut = () => breakOff(pair, random);
  // Both are small enough to arrive in one piece; it breaks at the first.
  if (fate === 'request' || fate === 'sent') {
    // The service's response is read and discarded.
    service.resume();
    client.once('data', (request: Buffer) => {
      service.write(fate === 'sent' ? request : partOf(request, random), cut);
    });
  } else {
    client.pipe(service);
    if (fate === 'whole') service.pipe(client);
    else service.once('data', (answer: Buffer) => client.write(partOf(answer, random), cut));
  }
}

/** From nothing to all of it. */
function partOf(chunk: Buffer, random: () => number): Buffer {
  return chunk.subarray(0, Math.floor(random() * (chunk.length + 1)));
}

/** A reset or a normal end; at once, or after a silence. */
function breakOff({ client, service }: { client: Socket; service: Socket }, random: () => number): void {
  const isReset = random() < 0.5;
  const stallMs = random() < 0.1 ? random() * LONGEST_STALL_MS : 0;
  const end = () => {
    if (isReset) {
      service.resetAndDestroy();
      client.resetAndDestroy();
    } else {
      service.end();
      client.end();
    }
  };
  if (stallMs > 0) setTimeout(end, stallMs);
  else end();
}
