import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Node's HTTP module, for its values. An `import` of one reads every export, and so loads the WebSocket that Node keeps
 * until somebody needs it.
 */
export const nodeHttp = process.getBuiltinModule('node:http');

/** The URL of a server that listens on this host. */
export function urlOf(server: Server, host: string): string {
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
