import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

export type SocketServer = AsyncDisposable & {
  port: number;
  url: string;
  /** How many connections were opened. */
  connections(): number;
};

/** A server on loopback that does with the bare socket whatever a bad receiver does. */
export function startSocketServer(serve: (socket: Socket) => void): Promise<SocketServer> {
  return listening(createServer(serve), 'http');
}

/** Answers every request with these bytes, then keeps the connection as it is or ends it. */
export function answering(bytes: string, then: 'stay' | 'end' | 'reset' = 'stay') {
  return startSocketServer((socket) => {
    socket.once('data', () => {
      socket.write(bytes, () => {
        if (then === 'end') socket.end();
        if (then === 'reset') socket.resetAndDestroy();
      });
    });
  });
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
  // A server that listens on a port has an address of this kind.
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
