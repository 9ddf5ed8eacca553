import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

export type SocketServer = AsyncDisposable & {
  port: number;
  url: string;
  /** How many connections were opened. */
  connections(): number;
};

export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** A server on loopback that acts on the bare socket like a bad receiver. */
export function startSocketServer(serve: (socket: Socket) => void): Promise<SocketServer> {
  return listening(createServer(serve), 'http');
}

/** Answers each connection's first request with these bytes, then keeps the connection or ends it. */
export function answering(bytes: string | Buffer, then: Ending = 'stay'): Promise<SocketServer> {
  return startSocketServer((socket) => {
    socket.once('data', () => reply(socket, bytes, then));
  });
}

export type Ending = 'stay' | 'end' | 'reset';

export function reply(socket: Socket, bytes: string | Buffer, then: Ending = 'stay'): void {
  socket.write(bytes, () => {
    if (then === 'end') socket.end();
    if (then === 'reset') socket.resetAndDestroy();
  });
}

/** Treats the first request badly, and answers all others normally. */
export function badOnce(bad: (socket: Socket) => void): Promise<SocketServer> {
  let requests = 0;
  return startSocketServer((socket) => {
    eachRequest(socket, () => {
      requests++;
      if (requests === 1) bad(socket);
      else socket.write(OK);
    });
  });
}

/** Calls back for each complete request; the sender's have a `content-length`. */
export function eachRequest(socket: Socket, serve: (request: string) => void): void {
  let rest = '';
  socket.on('data', (chunk) => {
    rest += chunk.toString('latin1');
    for (;;) {
      const [head = '', length = '0'] = /^.*?content-length: (\d+).*?\r\n\r\n/s.exec(rest) ?? [];
      const end = head.length + Number(length);
      if (head === '' || rest.length < end) return;
      const request = rest.slice(0, end);
      rest = rest.slice(end);
      serve(request);
    }
  });
}

/** Keeps writing this as fast as it is taken. */
export function flood(socket: Socket, bytes: string | Buffer): void {
  const write = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', write);
  write();
}

/** Keeps writing this every few milliseconds. */
export function drip(socket: Socket, bytes: string): void {
  const timer = setInterval(() => socket.write(bytes), 10);
  socket.on('close', () => clearInterval(timer));
}

/** Starts a server of any kind on a free port. */
export async function listening(server: Server, scheme: 'http' | 'https'): Promise<SocketServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server that listens on TCP has this kind of address.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${scheme}://127.0.0.1:${port}/hook`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
