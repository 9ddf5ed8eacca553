import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createFollower, createFraming, READY, type Shape, typeOf } from './wire.ts';

/** A TCP proxy between the service and PostgreSQL that randomly breaks connections around commits of plants. */
export type CommitProxy = {
  port: number;
  /** How many commits had each fate. */
  counts: Record<Shape, Record<Fate, number>>;
  /** How many commits were disturbed. */
  broken(): number;
  /** Starts disturbing commits, until `calm`. */
  rage(): void;
  calm(): void;
  stop(): Promise<void>;
};

/**
 * The fate of a commit. `before`: the server does not get the message that lets it commit. `part`: it gets a part of
 * it. `sent`: it gets all of it, and the connection breaks at once. `unanswered`: it has answered, but the answer is
 * lost. `half`: the service gets a part of the answer. `late`: the answer arrives after a silence. `silent`: nothing
 * arrives for longer than the service waits.
 */
export type Fate = (typeof fates)[number];
const fates = ['before', 'part', 'sent', 'unanswered', 'half', 'late', 'silent', 'whole'] as const;

/** How often, of a hundred commits. */
const SHARES: Record<Fate, number> = {
  before: 10,
  part: 7,
  sent: 15,
  unanswered: 15,
  half: 8,
  late: 4.5,
  silent: 0.5,
  whole: 40,
};

const LATE_MS = 300;
/** Longer than the service waits for a response. */
const SILENT_MS = 12_000;

/** `random` returns numbers from 0 to 1; a quick proxy is never silent for long. */
export async function startCommitProxy(
  serverPort: number,
  { random, isQuick }: { random: () => number; isQuick: boolean },
): Promise<CommitProxy> {
  const none = () => Object.fromEntries(fates.map((fate) => [fate, 0]));
  // Every fate is a key.
  const counts = { statement: none(), transaction: none() } as CommitProxy['counts'];
  let isCalm = true;
  const sockets = new Set<Socket>();

  const proxy = createServer({ noDelay: true }, (client) => {
    const server = connect({ port: serverPort, host: '127.0.0.1', noDelay: true });
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroy());
    join({ client, server }, random, (shape) => {
      const fate = isCalm ? 'whole' : pick(random, isQuick);
      counts[shape][fate]++;
      return fate;
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
  return {
    port: address.port,
    counts,
    broken: () =>
      Object.values(counts).reduce(
        (sum, one) => sum + Object.values(one).reduce((all, times) => all + times, 0) - one.whole,
        0,
      ),
    rage() {
      isCalm = false;
    },
    calm() {
      isCalm = true;
    },
    async stop() {
      proxy.close();
      for (const socket of sockets) socket.destroy();
      await once(proxy, 'close');
    },
  };
}

function pick(random: () => number, isQuick: boolean): Fate {
  let left = random() * Object.values(SHARES).reduce((sum, share) => sum + share, 0);
  for (const fate of fates) {
    left -= SHARES[fate];
    if (left < 0) return fate === 'silent' && isQuick ? 'late' : fate;
  }
  return 'whole';
}

type Pair = { client: Socket; server: Socket };

/** Passes on both directions, message by message, until a commit has another fate. */
function join({ client, server }: Pair, random: () => number, fateOf: (shape: Shape) => Fate): void {
  const follow = createFollower();
  const fromClient = createFraming('client');
  const fromServer = createFraming('server');
  /** Responses that the server owes: one to the start, one to each query. */
  let owed = 1;
  /** The fate of the last of them. */
  let fate: Fate = 'whole';
  let isOver = false;
  const end = () => {
    isOver = true;
    breakOff({ client, server }, random);
  };

  client.on('data', (chunk: Buffer) => {
    for (const message of fromClient(chunk)) {
      if (isOver || fate !== 'whole') return;
      const { shape, isAnswered } = follow(message);
      if (isAnswered) owed++;
      if (shape) fate = fateOf(shape);
      if (fate === 'before') return end();
      if (fate === 'part') return void server.write(partOf(message, random), end);
      if (fate === 'sent') return void server.write(message, end);
      server.write(message);
      if (fate === 'silent') setTimeout(end, SILENT_MS * (1 + random() / 10));
    }
  });

  server.on('data', (chunk: Buffer) => {
    for (const message of fromServer(chunk)) {
      if (isOver) return;
      if (owed === 1 && fate !== 'whole') hold(message);
      else client.write(message);
      if (typeOf(message) === READY) owed--;
    }
  });

  /** The response to a commit with a fate; it ends with a Ready. */
  function hold(message: Buffer): void {
    const isEnd = typeOf(message) === READY;
    if (fate === 'half' && !isEnd && random() < 0.5) {
      client.write(message);
    } else if (fate === 'half') {
      // Nothing may follow a part.
      isOver = true;
      client.write(partOf(message, random), end);
    } else if (fate === 'unanswered' && isEnd) {
      end();
    } else if (fate === 'late') release(message, isEnd);
  }

  let delayed: Buffer[] = [];
  function release(message: Buffer, isEnd: boolean): void {
    delayed.push(message);
    if (!isEnd) return;
    fate = 'whole';
    setTimeout(() => {
      client.write(Buffer.concat(delayed));
      delayed = [];
    }, random() * LATE_MS);
  }
}

/** All of it but a byte or more. */
function partOf(message: Buffer, random: () => number): Buffer {
  return message.subarray(0, Math.floor(random() * message.length));
}

/** A reset or a normal end. */
function breakOff({ client, server }: Pair, random: () => number): void {
  if (random() < 0.5) {
    server.resetAndDestroy();
    client.resetAndDestroy();
  } else {
    server.end();
    client.end();
  }
}
