import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Client } from 'undici';
import { delivery, sending } from '../../limits.ts';
import { TOO_MUCH } from './attempt.ts';
import { connect } from './connect.ts';
import type { Target } from './target.ts';

/** Where the deliveries of a webhook are sent. */
export type Receiver = {
  webhook: string;
  /** As stored in the webhook. */
  url: string;
  parsed: URL;
  /** Path and query, as in a request. */
  path: string;
  idle: Connection[];
  session: Buffer | undefined;
};

/** Carries one request at a time and reopens its socket when the receiver has closed it. */
export type Connection = {
  receiver: Receiver;
  client: Client;
  socket: Socket | undefined;
  /** The address connected to, or tried first; undefined before. */
  address: string | undefined;
  /** Requests sent over the socket. */
  requests: number;
  /** What had arrived besides responses before the last request; 0 while the connection is being opened. */
  surplusBefore: number;
  isIdle: boolean;
  /** The request that it carries. */
  carried: Carried | undefined;
};

type Carried = {
  /** Called after each part of a response that has arrived. */
  onRead(): void;
  end(reason: string): void;
};

export type Connections = ReturnType<typeof createConnections>;

/**
 * The connections to receivers. Each serves one webhook only: surplus data from a receiver could be taken for the
 * response to a later request on the same connection, so it must not harm anybody else.
 */
export function createConnections(target: Target) {
  // The tables that change with every request are arrays and counts: V8 keeps removed entries of a Map or Set until
  // the next full collection.
  const receivers = new Map<string, Receiver>();
  const all = new Set<Connection>();
  let idle = 0;
  let isStopped = false;
  let sweeping: NodeJS.Timeout | undefined;

  /** Ends what a receiver floods with handshakes, tickets or key updates: TLS hands none of them on. */
  function sweep(): void {
    for (const connection of all) {
      if (surplus(connection.socket) - connection.surplusBefore <= sending.surplusBytes) continue;
      if (connection.carried) connection.carried.end(TOO_MUCH);
      else close(connection);
    }
  }

  function forget(receiver: Receiver): void {
    receivers.delete(receiver.webhook);
    for (const connection of [...receiver.idle]) close(connection);
  }

  /** Opens its socket with the first request. */
  function open(receiver: Receiver): Connection {
    const connection: Connection = {
      receiver,
      client: clientOf(receiver, target, () => connection),
      socket: undefined,
      address: undefined,
      requests: 0,
      surplusBefore: 0,
      isIdle: false,
      carried: undefined,
    };
    all.add(connection);
    sweeping ??= setInterval(sweep, sending.sweepMs);
    connection.client.on('disconnect', () => {
      if (connection.isIdle) close(connection);
    });
    return connection;
  }

  function close(connection: Connection): void {
    if (connection.isIdle) {
      const { idle: own } = connection.receiver;
      own.splice(own.indexOf(connection), 1);
      connection.isIdle = false;
      idle--;
    }
    connection.carried = undefined;
    all.delete(connection);
    if (all.size === 0) {
      clearInterval(sweeping);
      sweeping = undefined;
    }
    if (!connection.client.destroyed) void connection.client.destroy();
    // The client does not know a socket that is still being opened.
    connection.socket?.destroy();
  }

  return {
    /** Throws `TargetRefused` unless the URL may be a target. */
    to(webhook: string, url: string): Receiver {
      const known = receivers.get(webhook);
      if (known?.url === url) return known;
      if (known) forget(known);
      const parsed = target.read(url);
      const path = parsed.pathname + parsed.search;
      const receiver: Receiver = { webhook, url, parsed, path, idle: [], session: undefined };
      if (receivers.size >= sending.receivers)
        for (const each of receivers.values()) if (each.idle.length === 0) forget(each);
      receivers.set(webhook, receiver);
      return receiver;
    },

    /** An idle connection, else a new one. */
    take(receiver: Receiver): Connection {
      const connection = receiver.idle.pop();
      if (connection === undefined) return open(receiver);
      connection.isIdle = false;
      connection.surplusBefore = surplus(connection.socket);
      idle--;
      return connection;
    },

    /** Keeps it for the next delivery, after a complete response. */
    giveBack(connection: Connection): void {
      const { receiver, socket } = connection;
      connection.carried = undefined;
      const isKnown = receivers.get(receiver.webhook) === receiver;
      if (!isStopped && isKnown && idle < sending.idleConnections && isReady(socket)) {
        connection.isIdle = true;
        receiver.idle.push(connection);
        idle++;
      } else {
        close(connection);
      }
    },

    /** Ends the requests, for this reason, and closes all connections. */
    async stop(reason: string): Promise<void> {
      isStopped = true;
      const left = [...all];
      for (const { carried } of left) carried?.end(reason);
      for (const connection of left) close(connection);
      // Again, because this call resolves when the socket is closed.
      await Promise.all(left.map(({ client }) => client.destroy()));
    },

    open,
    close,
  };
}

/** If a receiver responds before it has taken the whole request, the unsent rest would stay in memory. */
function isReady(socket: Socket | undefined): boolean {
  return socket !== undefined && !socket.destroyed && socket.writableLength === 0;
}

/** What has arrived over the network besides responses, which are all that `bytesRead` of a TLS socket counts. */
function surplus(socket: Socket | undefined): number {
  if (!(socket instanceof TLSSocket)) return 0;
  // Only these members of Node, which its types omit, count what TLS read.
  const { _handle: handle } = socket as unknown as { _handle?: { _parent?: { bytesRead?: number } } };
  return (handle?._parent?.bytesRead ?? 0) - socket.bytesRead;
}

function clientOf(receiver: Receiver, target: Target, own: () => Connection): Client {
  const { parsed } = receiver;
  return new Client(parsed.origin, {
    connect(_, callback) {
      const connection = own();
      connection.requests = 0;
      connection.surplusBefore = 0;
      connection.address = undefined;
      connection.socket = connect(
        {
          target,
          url: parsed,
          session: receiver.session,
          onTry(address) {
            connection.address = address;
          },
          onSession(session) {
            receiver.session = session;
          },
        },
        (error, socket) => {
          if (error) {
            callback(error, null);
            return;
          }
          connection.address = socket.remoteAddress;
          connection.surplusBefore = surplus(socket);
          callback(null, socket);
          // After the client's own listener, which has then read what arrived.
          socket.on('readable', () => connection.carried?.onRead());
        },
      );
    },
    allowH2: false,
    // One deadline covers everything; two more timeouts would only blur what a failure means.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: delivery.answerHeaderBytes,
    keepAliveTimeout: sending.idleMs,
    keepAliveMaxTimeout: sending.longIdleMs,
  });
}
