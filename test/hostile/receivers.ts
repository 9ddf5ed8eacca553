import { gzipSync } from 'node:zlib';

/** How a receiver answers a delivery, and what the contract (section 4) makes of it. */
export type Receiver = {
  name: string;
  /** Called once a request has arrived. */
  sends: readonly (string | Buffer)[];
  /** What follows: keep the connection, end it, or repeat the last bytes without end, fast or slowly. */
  afterwards: 'keeps' | 'ends' | 'resets' | 'floods' | 'drips';
  /** The delivery's state after its one attempt. Several only where the standards allow a choice. */
  is: readonly ('delivered' | 'failed' | 'held')[];
  /** The recorded status; null for none. */
  status?: number | null;
  /** The approximate pause of the webhook, in seconds. */
  pauses?: number;
};

const CRLF = '\r\n';
const EMPTY = 'Content-Length: 0';

const answer = (status: number | string, ...fields: string[]): string =>
  [`HTTP/1.1 ${status}`, ...fields, '', ''].join(CRLF);

const one = (
  name: string,
  sends: string | Buffer | (string | Buffer)[],
  is: Receiver['is'][number] | Receiver['is'],
  more: Partial<Receiver> = {},
): Receiver => ({ name, sends: [sends].flat(), afterwards: 'keeps', is: [is].flat(), ...more });

const ends = { afterwards: 'ends' } as const;
const none = { afterwards: 'ends', status: null } as const;

/** 2xx is delivered, 410 disables, everything else is a failure. */
const STATUSES: [status: number, is: Receiver['is'][number]][] = [
  [200, 'delivered'],
  [201, 'delivered'],
  [202, 'delivered'],
  [203, 'delivered'],
  [206, 'delivered'],
  [226, 'delivered'],
  [299, 'delivered'],
  [300, 'failed'],
  [304, 'failed'],
  [400, 'failed'],
  [401, 'failed'],
  [404, 'failed'],
  [407, 'failed'],
  [408, 'failed'],
  [410, 'held'],
  [418, 'failed'],
  [425, 'failed'],
  [429, 'failed'],
  [451, 'failed'],
  [499, 'failed'],
  [500, 'failed'],
  [503, 'failed'],
  [511, 'failed'],
  [599, 'failed'],
];

const ELSEWHERE = 'Location: http://127.77.0.1:{port}/redirected';
const REDIRECTS = [301, 302, 303, 307, 308];

const inHttpDate = (seconds: number): string => new Date(Date.now() + seconds * 1000).toUTCString();
const DAY = 24 * 60 * 60;

/** Honoured on 429 and 503, up to a day; anything but a number or a date is ignored. */
const PAUSES: [name: string, status: number, value: string, pauses: number][] = [
  ['seconds', 429, '120', 120],
  ['seconds on 503', 503, '3600', 3600],
  ['a date', 429, inHttpDate(1000), 1000],
  ['a date on 503', 503, inHttpDate(7200), 7200],
  ['more than a day', 429, '999999', DAY],
  ['more than 64 bits', 429, '9'.repeat(30), DAY],
  ['a date in a hundred years', 503, 'Thu, 01 Jan 2122 00:00:00 GMT', DAY],
  ['nothing', 429, '', 0],
  ['zero', 429, '0', 0],
  ['a negative number', 429, '-120', 0],
  ['a fraction', 429, '120.5', 0],
  ['an exponent', 503, '1e3', 0],
  ['hexadecimal', 503, '0x100', 0],
  ['a word', 503, 'soon', 0],
  ['a unit', 503, '120s', 0],
  ['a date that is over', 503, 'Sun, 06 Nov 1994 08:49:37 GMT', 0],
  ['a date that is none', 503, 'Mon, 32 Nov 2094 08:49:37 GMT', 0],
  ['two numbers', 429, '120, 240', 0],
  ['seconds on 500, where it says nothing', 500, '120', 0],
  ['seconds on 404, where it says nothing', 404, '120', 0],
];

const NOT_HTTP: [name: string, text: string | Buffer][] = [
  ['a word', 'hello\r\n\r\n'],
  ['an empty line', '\r\n\r\n'],
  ['JSON', '{"ok":true}\n'],
  ['HTML', '<!doctype html><p>hello</p>\n'],
  ['a secure shell', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['a mail server', '220 mail.example ESMTP\r\n'],
  ['TLS', Buffer.from('15030300020228', 'hex')],
  ['NULs', Buffer.alloc(1000)],
  ['bytes of ff', Buffer.alloc(1000, 0xff)],
  ['a request', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['another protocol', 'ICY 200 OK\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
  ['HTTP/3.0', 'HTTP/3.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['a status of two digits', answer('20', EMPTY)],
  ['a status of four digits', answer('2000', EMPTY)],
  ['a status of letters', answer('OK', EMPTY)],
  ['a negative status', answer('-200', EMPTY)],
  ['no status', 'HTTP/1.1\r\nContent-Length: 0\r\n\r\n'],
  ['two spaces before the status', 'HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['a field without a colon', answer('200 OK', 'X', EMPTY)],
  ['a field with a space in its name', answer('200 OK', 'X y: z', EMPTY)],
  ['a field with NUL', answer('200 OK', 'X: a\0b', EMPTY)],
];

/** Answers without a recognisable end, or none at all. */
const BROKEN: [name: string, text: string][] = [
  ['a length that is negative', `${answer('200 OK', 'Content-Length: -1')}ok`],
  ['a length that is no number', `${answer('200 OK', 'Content-Length: x')}ok`],
  ['two different lengths', `${answer('200 OK', 'Content-Length: 2', 'Content-Length: 3')}ok`],
  [
    'a length and chunks',
    `${answer('200 OK', 'Content-Length: 2', 'Transfer-Encoding: chunked')}2\r\nok\r\n0\r\n\r\n`,
  ],
  ['a length that is longer than the body', `${answer('200 OK', 'Content-Length: 10')}ok`],
  ['a chunk that cannot be read', `${answer('200 OK', 'Transfer-Encoding: chunked')}x\r\nok\r\n0\r\n\r\n`],
  ['a chunk that does not end', `${answer('200 OK', 'Transfer-Encoding: chunked')}5\r\nok`],
  ['chunks without the last', `${answer('200 OK', 'Transfer-Encoding: chunked')}2\r\nok\r\n`],
  ['a head that does not end', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n'],
  ['half a status line', 'HTTP/1.1 20'],
];

const interim = (status: string): string => answer(status, 'X: y');
const final = answer('204 No Content');
const gzipped = gzipSync(Buffer.alloc(16 * 1024 * 1024));

export const receivers: readonly Receiver[] = [
  ...STATUSES.map(([status, is]) => one(`${status}`, answer(`${status} X`, EMPTY), is, { status })),
  ...REDIRECTS.map((status) =>
    one(`${status} to itself`, answer(`${status} X`, EMPTY, ELSEWHERE), 'failed', { status }),
  ),
  one('204 with a body, which none has', `${final}hello`, 'delivered', { status: 204 }),
  ...PAUSES.map(([name, status, value, pauses]) =>
    one(`Retry-After: ${name}`, answer(`${status} X`, EMPTY, `Retry-After: ${value}`), 'failed', {
      status,
      pauses,
    }),
  ),
  ...NOT_HTTP.map(([name, text]) => one(`not HTTP: ${name}`, text, 'failed', none)),
  ...BROKEN.map(([name, text]) => one(`broken: ${name}`, text, 'failed', ends)),

  one('no reason', answer('200 ', EMPTY), 'delivered', { status: 200 }),
  one('HTTP/1.0, to the end of the connection', `HTTP/1.0 200 OK${CRLF}${CRLF}ok`, 'delivered', {
    ...ends,
    status: 200,
  }),
  one('no length, to the end of the connection', `${answer('200 OK')}ok`, 'delivered', {
    ...ends,
    status: 200,
  }),
  one('status 000', answer('000 X', EMPTY), 'failed'),
  one('status 999', answer('999 X', EMPTY), 'failed'),
  one('byte by byte', [...answer('200 OK', EMPTY)], 'delivered', { status: 200 }),
  one('15,000 bytes of fields', answer('200 OK', `X: ${'x'.repeat(15_000)}`, EMPTY), 'delivered', {
    status: 200,
  }),
  one('40,000 bytes of fields', answer('200 OK', `X: ${'x'.repeat(40_000)}`, EMPTY), 'failed'),
  one('two thousand fields', answer('200 OK', ...Array(4000).fill('X: yyyyy'), EMPTY), [
    'failed',
    'delivered',
  ]),
  one('a body of 64 KiB', `${answer('200 OK', 'Content-Length: 65536')}${'x'.repeat(65_536)}`, 'delivered', {
    status: 200,
  }),
  one(
    'a body of a mebibyte',
    `${answer('200 OK', 'Content-Length: 1048576')}${'x'.repeat(1_048_576)}`,
    'delivered',
    { status: 200 },
  ),
  one('an endless body', [answer('200 OK', 'Content-Length: 99999999999'), 'x'.repeat(16_384)], 'delivered', {
    afterwards: 'floods',
    status: 200,
  }),
  one(
    'endless chunks',
    [answer('200 OK', 'Transfer-Encoding: chunked'), `4000\r\n${'x'.repeat(16_384)}\r\n`],
    'delivered',
    { afterwards: 'floods', status: 200 },
  ),
  one(
    'an endless body of a failure',
    [answer('500 X', 'Content-Length: 99999999999'), 'x'.repeat(16_384)],
    'failed',
    { afterwards: 'floods', status: 500 },
  ),
  one('endless fields', [`HTTP/1.1 200 OK${CRLF}`, 'X: y\r\n'.repeat(100)], 'failed', {
    afterwards: 'floods',
    status: null,
  }),
  one('an endless status line', ['HTTP/1.1 200 ', 'x'.repeat(1000)], 'failed', {
    afterwards: 'floods',
    status: null,
  }),
  one('endless noise', ['\xff'.repeat(1000)], 'failed', { afterwards: 'floods', status: null }),
  one(
    '16 MiB in 16 KB of gzip',
    [answer('200 OK', 'Content-Encoding: gzip', `Content-Length: ${gzipped.length}`), gzipped],
    'delivered',
    { status: 200 },
  ),
  one(
    'a content-coding that is none',
    [answer('200 OK', 'Content-Encoding: gzip', 'Content-Length: 2'), 'ok'],
    'delivered',
    { status: 200 },
  ),
  one('a body of NULs and controls', `${answer('200 OK', 'Content-Length: 6')}\0\x01\x1b[2J`, 'delivered', {
    status: 200,
  }),
  one(
    'a body that is no UTF-8',
    [answer('500 X', 'Content-Length: 3'), Buffer.from([0xff, 0xfe, 0xc3])],
    'failed',
    { status: 500 },
  ),

  one('102 before the answer', interim('102 Processing') + final, 'delivered', { status: 204 }),
  one('103 before the answer', interim('103 Early Hints') + final, 'delivered', { status: 204 }),
  one('103 a hundred times before the answer', interim('103 Early Hints').repeat(100) + final, [
    'delivered',
    'failed',
  ]),
  one('100, for which nobody asked', answer('100 Continue') + final, ['delivered', 'failed']),
  one(
    '101, for which nobody asked',
    answer('101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: x'),
    'failed',
  ),
  one('102 without end', interim('102 Processing').repeat(100), 'failed', { afterwards: 'floods' }),
  one('103 and the end', interim('103 Early Hints'), 'failed', ends),

  one('the end at once', [], 'failed', none),
  one('a reset at once', [], 'failed', { afterwards: 'resets', status: null }),
  one('a reset in the status line', 'HTTP/1.1 2', 'failed', { afterwards: 'resets', status: null }),
  one('a reset in the body', `${answer('200 OK', 'Content-Length: 10')}ok`, 'failed', {
    afterwards: 'resets',
  }),
  one('silence', [], 'failed', { status: null }),
  one('a body that drips', [answer('200 OK', 'Content-Length: 100000'), 'x'], 'failed', {
    afterwards: 'drips',
  }),
  one('fields that drip', [`HTTP/1.1 200 OK${CRLF}`, 'X: y\r\n'], 'failed', {
    afterwards: 'drips',
    status: null,
  }),
  one('interim answers that drip', interim('102 Processing'), 'failed', {
    afterwards: 'drips',
    status: null,
  }),
  one('silence after the head', answer('200 OK', 'Content-Length: 10'), 'failed'),

  // A second answer belongs to no request: not to the next one either, and it disables nothing.
  one('410 after the answer', answer('200 OK', EMPTY) + answer('410 Gone', EMPTY), 'delivered', {
    status: 200,
  }),
  one('noise after the answer', `${answer('200 OK', EMPTY)}noise`, 'delivered', { status: 200 }),
  one(
    'another answer in the body',
    `${answer('200 OK', `Content-Length: ${answer('410 Gone').length}`)}${answer('410 Gone')}`,
    'delivered',
    { status: 200 },
  ),
];
