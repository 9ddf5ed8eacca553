import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { http as limits } from '../../limits.ts';
import { type AllowedNetworks, isAllowed } from '../../webhooks/sending/addresses.ts';
import { peerNetwork } from './client-address.ts';

/**
 * Closes a new connection when its client already holds its share of the free ones. The fewer are free, the fewer one
 * client may take, so only many clients together can lock others out. Trusted proxies are exempt, because they carry
 * many clients.
 * @param most open connections in total
 */
export function shareConnections(server: Server, most: number, trusted: AllowedNetworks): void {
  const open = new Map<string, number>();
  let inAll = 0;

  server.on('connection', (socket: Socket) => {
    const client = peerNetwork(socket.remoteAddress);
    const own = open.get(client) ?? 0;
    const free = most - inAll;
    if (own >= free * limits.connectionShare && !isAllowed(socket.remoteAddress ?? '', trusted)) {
      socket.destroy();
      return;
    }
    inAll++;
    open.set(client, own + 1);
    socket.once('close', () => {
      inAll--;
      const left = (open.get(client) ?? 0) - 1;
      if (left > 0) open.set(client, left);
      else open.delete(client);
    });
  });
}
