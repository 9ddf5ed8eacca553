import {
  bare,
  type Case,
  type Expected,
  exact,
  expecting,
  type Family,
  framed,
  GET,
  inChunks,
  JSON_TYPE,
  POST,
  posted,
  smuggled,
} from '../case.ts';

/** Upgrade (RFC 9110 §7.8), CONNECT (§9.3.6) and Expect (§10.1.1), which change how a connection continues. */

const PLANT = '{"name":"Upgraded"}';
const LENGTH = `Content-Length: ${PLANT.length}`;
const UPGRADE = ['Connection: Upgrade', 'Upgrade: websocket'];

/** Requests for another protocol: the service ignores the upgrade, and nothing after it runs as a request. */
const ASKING: [name: string, fields: string[]][] = [
  ['websocket', [...UPGRADE, 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']],
  ['h2c', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAA']],
  ['TLS', ['Connection: Upgrade', 'Upgrade: TLS/1.2']],
  ['HTTP/2', ['Connection: Upgrade', 'Upgrade: HTTP/2.0']],
  ['a protocol that nobody knows', ['Connection: Upgrade', 'Upgrade: x-none/7']],
  ['many protocols', ['Connection: Upgrade', 'Upgrade: h2c, websocket, TLS/1.3, IRC/6.9']],
  ['protocols in two fields', ['Connection: Upgrade', 'Upgrade: h2c', 'Upgrade: websocket']],
  ['names in lower case', ['connection: upgrade', 'upgrade: websocket']],
  ['names in upper case', ['CONNECTION: UPGRADE', 'UPGRADE: WEBSOCKET']],
  ['the protocol before the connection', ['Upgrade: websocket', 'Connection: Upgrade']],
  ['keep-alive before', ['Connection: keep-alive, Upgrade', 'Upgrade: websocket']],
  ['keep-alive after', ['Connection: Upgrade, keep-alive', 'Upgrade: websocket']],
  ['close beside it', ['Connection: close, Upgrade', 'Upgrade: websocket']],
  ['the connection in two fields', ['Connection: keep-alive', 'Connection: Upgrade', 'Upgrade: websocket']],
  ['spaces around', ['Connection: \t Upgrade \t', 'Upgrade:  websocket ']],
  [
    'a hundred fields between',
    [UPGRADE[0] ?? '', ...Array.from({ length: 100 }, (_, n) => `X-${n}: y`), UPGRADE[1] ?? ''],
  ],
];

/** RFC 9110 §7.8: ignored unless both fields are present. */
const HALVES: [name: string, fields: string[]][] = [
  ['Upgrade that Connection does not name', ['Upgrade: websocket']],
  ['Connection that names what is not there', ['Connection: Upgrade']],
  ['Connection that names a longer word', ['Connection: Upgrades', 'Upgrade: websocket']],
  ['Upgrade without a protocol', ['Connection: Upgrade', 'Upgrade:']],
  ['Upgrade of a comma', ['Connection: Upgrade', 'Upgrade: ,']],
];

/** A request that would delete a plant follows, and must not run. */
const hiding =
  (wire: Case['bytes']): Case['bytes'] =>
  (ground) =>
    Buffer.concat([Buffer.from(wire(ground) as string, 'latin1'), Buffer.from(smuggled(ground), 'latin1')]);

const asking = (
  is: number | number[],
  name: string,
  wire: Case['bytes'],
  more: Partial<Expected> = {},
): Case => expecting(is, 'closed', more)(`an upgrade ${name}`, hiding(wire));

const upgrades = [
  ...ASKING.map(([name, fields]) => asking(200, `of a list: ${name}`, bare(GET, ...fields))),
  ...ASKING.slice(0, 4).map(([name, fields]) =>
    asking(201, `of a create: ${name}`, posted(PLANT, [JSON_TYPE, ...fields]), {
      plant: { name: 'Upgraded' },
    }),
  ),
  asking(201, 'of a create in chunks', framed(['Transfer-Encoding: chunked', ...UPGRADE], inChunks(PLANT))),
  asking(201, 'of a create that expects 100', framed([LENGTH, 'Expect: 100-continue', ...UPGRADE], PLANT)),
  asking(40001, 'of a create that is no JSON', posted('{', [JSON_TYPE, ...UPGRADE])),
  asking(41500, 'of a create of another type', posted(PLANT, ['Content-Type: text/plain', ...UPGRADE])),
  asking(40401, 'of a delete', bare('DELETE /plants/-7 HTTP/1.1', ...UPGRADE)),
  asking(200, 'of HEAD', bare(GET.replace('GET', 'HEAD'), ...UPGRADE), { head: true }),
  asking(204, 'of OPTIONS', bare('OPTIONS /plants HTTP/1.1', ...UPGRADE)),
  asking(204, 'of OPTIONS *', bare('OPTIONS * HTTP/1.1', ...UPGRADE)),
  asking(40500, 'of PUT', bare('PUT /plants HTTP/1.1', ...UPGRADE)),
  asking(40400, 'of a path that is missing', bare('GET /nothing HTTP/1.1', ...UPGRADE)),
  asking(40003, 'of an unknown parameter', bare('GET /plants?x=1 HTTP/1.1', ...UPGRADE)),
  asking(40100, 'without a token', exact(GET, 'Host: x', ...UPGRADE)),
  asking(
    40100,
    'of a create without a token',
    exact(POST, 'Host: x', JSON_TYPE, 'Content-Length: 0', ...UPGRADE),
  ),
  asking(40101, 'with a wrong token', exact(GET, 'Host: x', 'Authorization: Bearer x', ...UPGRADE)),
  asking(200, 'of a health check', exact('GET /healthz HTTP/1.1', 'Host: x', ...UPGRADE)),
  asking([200, 40000], 'of a list with a body', (ground) => {
    const inside = smuggled(ground);
    return String(bare(GET, ...UPGRADE, `Content-Length: ${inside.length}`)(ground)) + inside;
  }),
  asking([40401, 40000], 'of a delete with a body in a chunk', (ground) => {
    const line = bare('DELETE /plants/-7 HTTP/1.1', ...UPGRADE, 'Transfer-Encoding: chunked');
    return String(line(ground)) + inChunks(smuggled(ground));
  }),
  ...HALVES.map(([name, fields]) =>
    expecting(200, 'either')(`half an upgrade: ${name}`, bare(GET, ...fields)),
  ),
  expecting(200, 'closed')('an upgrade in HTTP/1.0', hiding(bare(GET.replace('1.1', '1.0'), ...UPGRADE))),
  {
    name: 'an upgrade after a create: both are answered',
    bytes: (ground) =>
      hiding(bare(GET, ...UPGRADE))(ground)
        .toString('latin1')
        .replace(/^/, String(plain(ground))),
    answers: [{ is: [201], plant: { name: 'Upgraded' } }, { is: [200] }],
    leaves: 'closed',
  } satisfies Case,
];

function plain(ground: Parameters<Case['bytes']>[0]): string {
  return String(framed([LENGTH], PLANT)(ground));
}

/** CONNECT names an authority, and the service never connects to one. */
const CONNECTS: [name: string, line: string, fields: string[]][] = [
  ['to a name', 'CONNECT example.com:443 HTTP/1.1', []],
  ['to an address', 'CONNECT 127.0.0.1:22 HTTP/1.1', []],
  ['to an address of IPv6', 'CONNECT [::1]:22 HTTP/1.1', []],
  ['to itself', 'CONNECT localhost:80 HTTP/1.1', []],
  ['to a path', 'CONNECT /plants HTTP/1.1', []],
  ['to a URL', 'CONNECT http://localhost/plants HTTP/1.1', []],
  ['to an asterisk', 'CONNECT * HTTP/1.1', []],
  ['to a name without a port', 'CONNECT example.com HTTP/1.1', []],
  ['to a port of letters', 'CONNECT example.com:x HTTP/1.1', []],
  ['to a port beyond 65535', 'CONNECT example.com:99999 HTTP/1.1', []],
  ['to user info', 'CONNECT a@b:80 HTTP/1.1', []],
  ['with a length', 'CONNECT x:1 HTTP/1.1', ['Content-Length: 5']],
  ['in chunks', 'CONNECT x:1 HTTP/1.1', ['Transfer-Encoding: chunked']],
  ['with an upgrade', 'CONNECT x:1 HTTP/1.1', UPGRADE],
  ['with an expectation', 'CONNECT x:1 HTTP/1.1', ['Expect: 100-continue']],
  ['for a websocket (RFC 8441)', 'CONNECT x:1 HTTP/1.1', [':protocol: websocket'.slice(1)]],
  ['in HTTP/1.0', 'CONNECT x:1 HTTP/1.0', []],
];

const created: Expected = { is: [201], plant: { name: 'Upgraded' } };
const refusedConnect: Expected = { is: [40500, 40000] };
const CONNECT = 'CONNECT x:1 HTTP/1.1';

/** A CONNECT after pending requests waits its turn. */
function connectAfter(
  name: string,
  answers: Expected[],
  before: (ground: Parameters<Case['bytes']>[0]) => string,
): Case {
  return {
    name: `CONNECT after ${name}`,
    bytes: (ground) => before(ground) + String(hiding(bare(CONNECT))(ground)),
    answers: [...answers, { is: [40500] }],
    leaves: 'closed',
  };
}

const listed: Expected = { is: [200], body: /"Given"/ };
const list = (ground: Parameters<Case['bytes']>[0]) => String(bare(GET)(ground));

const connects = [
  ...CONNECTS.map(
    ([name, line, fields]): Case => ({
      name: `CONNECT ${name}`,
      bytes: hiding(bare(line, ...fields)),
      answers: [refusedConnect],
      leaves: 'closed',
    }),
  ),
  expecting([40500, 40000], 'closed')('CONNECT without Host', hiding(exact(CONNECT))),
  expecting([40500, 40100], 'closed')('CONNECT without a token', hiding(exact(CONNECT, 'Host: x'))),
  connectAfter('a create', [created], plain),
  connectAfter('four creates', Array(4).fill(created), (ground) => plain(ground).repeat(4)),
  connectAfter('forty creates', Array(40).fill(created), (ground) => plain(ground).repeat(40)),
  connectAfter('a list', [listed], list),
  connectAfter('twenty lists', Array(20).fill(listed), (ground) => list(ground).repeat(20)),
  connectAfter('a create and a list', [created, listed], (ground) => plain(ground) + list(ground)),
  connectAfter('a path that is missing', [{ is: [40400] }], (ground) =>
    String(bare('GET /nothing HTTP/1.1')(ground)),
  ),
  connectAfter('a create in chunks', [created], (ground) =>
    String(framed(['Transfer-Encoding: chunked'], inChunks(PLANT))(ground)),
  ),
];

const NO_EXPECTATIONS = [
  '200-ok',
  '100',
  'continue',
  '100-continued',
  '101-switching-protocols',
  '100-continue, x',
  'x',
  '"100-continue"',
  '100-continue x',
  '100 continue',
  'token=1',
];

const expectations = [
  ...['100-continue', '100-Continue', '100-CONTINUE', ' 100-continue '].map((value) =>
    expecting(201, 'open')(`Expect: ${value}`, framed([LENGTH, `Expect: ${value}`], PLANT)),
  ),
  expecting(201, 'open')(
    'Expect in chunks',
    framed(['Transfer-Encoding: chunked', 'Expect: 100-continue'], inChunks(PLANT)),
  ),
  expecting(201, 'closed')(
    'Expect and Connection: close',
    framed([LENGTH, 'Expect: 100-continue', 'Connection: close'], PLANT),
  ),
  expecting(200, 'either')('Expect of a list, which has no body', bare(GET, 'Expect: 100-continue')),
  expecting(40401, 'either')(
    'Expect of a delete',
    bare('DELETE /plants/-7 HTTP/1.1', 'Expect: 100-continue'),
  ),
  expecting(40001, 'either')(
    'Expect and a body that is no JSON',
    framed(['Content-Length: 1', 'Expect: 100-continue'], '{'),
  ),
  expecting(41300, 'closed', { continues: 'never' })(
    'Expect and a length that is too large',
    framed(['Content-Length: 65537', 'Expect: 100-continue'], ''),
  ),
  // RFC 9110 §10.1.1: a server must ignore it in HTTP/1.0.
  expecting(201, 'closed', { continues: 'never' })(
    'Expect in HTTP/1.0',
    framed([LENGTH, 'Expect: 100-continue'], PLANT, POST.replace('1.1', '1.0')),
  ),
  ...NO_EXPECTATIONS.map((value) =>
    expecting(41700, 'either', { continues: 'never' })(
      `Expect: ${value}`,
      framed([LENGTH, `Expect: ${value}`], PLANT),
    ),
  ),
  ...['', ',', '100-continue, 100-continue', '100-continue;q=1'].map((value) =>
    expecting([201, 41700], 'either')(
      `Expect: ${value} (which a list may be)`,
      framed([LENGTH, `Expect: ${value}`], PLANT),
    ),
  ),
  expecting([40000, 41700], 'either')(
    'Expect in two fields',
    framed([LENGTH, 'Expect: 100-continue', 'Expect: x'], PLANT),
  ),
  expecting(41700, 'either')('another expectation of a list', bare(GET, 'Expect: x')),
  expecting([40100, 41700], 'either')(
    'another expectation without a token',
    exact(GET, 'Host: x', 'Expect: x'),
  ),
  expecting([40400, 41700], 'either')(
    'another expectation of a path that is missing',
    bare('GET /nothing HTTP/1.1', 'Expect: x'),
  ),
];

/** A request gets one final answer, even when its body breaks off afterwards. */
const BROKEN: [name: string, rest: string][] = [
  ['a chunk that cannot be read', 'x\r\n'],
  ['a chunk, and one that cannot be read', '5\r\nhello\r\nzz\r\n'],
  ['a chunk that does not end', '5\r\nhelloXX'],
  ['a trailer that cannot be read', '5\r\nhello\r\n0\r\nX y\r\n\r\n'],
];

const REFUSED: [name: string, is: number, line: string, token: boolean][] = [
  ['a missing path', 40400, 'POST /nothing HTTP/1.1', true],
  ['a missing token', 40100, POST, false],
  ['a wrong method', 40500, 'PUT /plants HTTP/1.1', true],
  ['an unknown parameter', 40003, 'POST /plants?x=1 HTTP/1.1', true],
];

/** Either of two errors may be found first; the rest after the answer gets no answer. */
const once = REFUSED.flatMap(([what, is, line, token]) =>
  BROKEN.flatMap(([name, rest]): Case[] => {
    const fields = [JSON_TYPE, 'Transfer-Encoding: chunked'];
    const start = token ? bare(line, ...fields) : exact(line, 'Host: x', ...fields);
    const bytes: Case['bytes'] = (ground) => String(start(ground)) + rest + smuggled(ground);
    const atOnce = expecting([is, 40000], 'closed')(`one answer to ${what} with ${name}`, bytes);
    // The query may be checked once the body has arrived.
    if (is === 40003) return [atOnce];
    const later = expecting(is, 'closed')(`one answer to ${what}, before ${name}`, start);
    return [atOnce, { ...later, rest: `${rest}GET / HTTP/1.1\r\nHost: x\r\n\r\n` }];
  }),
);

export const upgradesAndExpectations: Family = {
  name: 'upgrades, CONNECT and expectations',
  cases: [...upgrades, ...connects, ...expectations, ...once],
};
