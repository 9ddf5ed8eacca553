import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';

/** A name server's answer: addresses of both kinds, an error, or none. */
export type NameAnswer = string[] | 'no such name' | 'failure' | 'silence';

export type NameServer = AsyncDisposable & {
  /** In a resolver's form: address and port. */
  address: string;
  /** The requested names, once for each kind of address. */
  asked: readonly string[];
};

const TYPE_A = 1;
const TYPE_AAAA = 28;
const FLAGS = { answer: 0x8180, failure: 0x8182, 'no such name': 0x8183 };

/** A real name server (RFC 1035) on loopback whose answers come from `answer`. */
export async function startNameServer(
  answer: (name: string, kind: 4 | 6) => NameAnswer | Promise<NameAnswer>,
): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', async (query, from) => {
    const { name, type, end } = questionOf(query);
    const kind = type === TYPE_AAAA ? 6 : 4;
    asked.push(name);
    const said = await answer(name, kind);
    if (said === 'silence' || (type !== TYPE_A && type !== TYPE_AAAA)) return;
    const addresses = Array.isArray(said) ? said.filter((address) => isIP(address) === kind) : [];
    const flags = Array.isArray(said) ? FLAGS.answer : FLAGS[said];
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(flags, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(addresses.length, 6);
    const records = addresses.map((address) => recordOf(address, type));
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** One resource record for the requested name, with a time to live of a minute. */
function recordOf(address: string, type: number): Buffer {
  const data = type === TYPE_A ? address.split('.').map(Number) : bytesOfIpv6(address);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, Buffer.from(data)]);
}

function bytesOfIpv6(address: string): number[] {
  const [front = '', back = ''] = address.split('::');
  const groups = (text: string) => text.split(':').filter((group) => group !== '');
  const zeros = 8 - groups(front).length - groups(back).length;
  const all = [...groups(front), ...Array.from({ length: zeros }, () => '0'), ...groups(back)];
  return all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]);
}
