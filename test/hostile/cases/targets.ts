import { bare, type Case, exact, expecting, type Family, raw, unreadable } from '../case.ts';

/** Request lines: RFC 9112, sections 2.2 and 3; RFC 3986. One long file, because most of it is tables. */

const listed = expecting(200, 'open', { body: /^\[\{"name":"Given"/ });
const missing = expecting(40400, 'open');
const badEscape = expecting(40000, 'either', { body: /escape/ });
const get = (target: string): Case['bytes'] => bare(`GET ${target} HTTP/1.1`);
const del = (target: string): Case['bytes'] => bare(`DELETE ${target} HTTP/1.1`);

/** The whole first line, which no reader should accept as a request line. */
const LINES: [name: string, line: string][] = [
  ['a minor version of two digits', 'GET /plants HTTP/1.10'],
  ['a minor version of two digits that begins with 0', 'GET /plants HTTP/1.01'],
  ['a major version of two digits', 'GET /plants HTTP/01.1'],
  ['a major version of 11', 'GET /plants HTTP/11.1'],
  ['a version of one digit', 'GET /plants HTTP/1'],
  ['a version without a minor one', 'GET /plants HTTP/1.'],
  ['a version without a major one', 'GET /plants HTTP/.1'],
  ['a version of three digits', 'GET /plants HTTP/1.1.1'],
  ['a version without a point', 'GET /plants HTTP/11'],
  ['a version with a comma', 'GET /plants HTTP/1,1'],
  ['a version with a minus sign', 'GET /plants HTTP/-1.1'],
  ['a version with letters', 'GET /plants HTTP/1.x'],
  ['no version', 'GET /plants HTTP/'],
  ['no slash before the version', 'GET /plants HTTP1.1'],
  ['two slashes before the version', 'GET /plants HTTP//1.1'],
  ['a backslash before the version', 'GET /plants HTTP\\1.1'],
  ['a space before the slash', 'GET /plants HTTP /1.1'],
  ['a space after the slash', 'GET /plants HTTP/ 1.1'],
  ['a space in the version', 'GET /plants HTTP/1 .1'],
  ['HTTP in lower case', 'GET /plants http/1.1'],
  ['HTTP in mixed case', 'GET /plants Http/1.1'],
  ['HTTPS', 'GET /plants HTTPS/1.1'],
  ['RTSP', 'GET /plants RTSP/1.0'],
  ['ICE', 'GET /plants ICE/1.0'],
  ['SIP', 'OPTIONS /plants SIP/2.0'],
  ['XHTTP', 'GET /plants XHTTP/1.1'],
  ['a space after the version', 'GET /plants HTTP/1.1 '],
  ['two spaces after the version', 'GET /plants HTTP/1.1  '],
  ['a tab after the version', 'GET /plants HTTP/1.1\t'],
  ['a word after the version', 'GET /plants HTTP/1.1 x'],
  ['a NUL after the version', 'GET /plants HTTP/1.1\0'],
  ['a carriage return after the version', 'GET /plants HTTP/1.1\r'],
  ['a tab before the target', 'GET\t/plants HTTP/1.1'],
  ['a tab before the version', 'GET /plants\tHTTP/1.1'],
  ['a vertical tab before the version', 'GET /plants\x0bHTTP/1.1'],
  ['a no-break space before the version', 'GET /plants\xa0HTTP/1.1'],
  ['a carriage return before the version', 'GET /plants\rHTTP/1.1'],
  ['a space before the method', ' GET /plants HTTP/1.1'],
  ['a tab before the method', '\tGET /plants HTTP/1.1'],
  ['a NUL before the method', '\0GET /plants HTTP/1.1'],
  ['a byte order mark before the method', '\xef\xbb\xbfGET /plants HTTP/1.1'],
  ['no target', 'GET HTTP/1.1'],
  ['an empty target', 'GET  HTTP/1.1'],
  ['a method alone', 'GET'],
  ['no method', '/plants HTTP/1.1'],
  ['a space in the target', 'GET /pla nts HTTP/1.1'],
  ['a space in the query', 'GET /plants?limit=1 0 HTTP/1.1'],
  ['a control in the target', 'GET /plants\x01 HTTP/1.1'],
  ['a NUL in the target', 'GET /plants\0 HTTP/1.1'],
  ['a DEL in the target', 'GET /plants\x7f HTTP/1.1'],
  ['an escape of a terminal in the target', 'GET /plants\x1b[2J HTTP/1.1'],
  ['a target without a slash', 'GET plants HTTP/1.1'],
  ['a target that is a query', 'GET ?limit=1 HTTP/1.1'],
  ['a target that is a fragment', 'GET #x HTTP/1.1'],
  ['a target that is a dot', 'GET . HTTP/1.1'],
  ['a target that is an authority', 'GET localhost:80 HTTP/1.1'],
  ['a target that begins with a backslash', 'GET \\plants HTTP/1.1'],
  ['a target that begins with an escape', 'GET %2Fplants HTTP/1.1'],
  ['a method with a slash', 'GE/T /plants HTTP/1.1'],
  ['a method with a colon', 'GET: /plants HTTP/1.1'],
  ['a method in quotes', '"GET" /plants HTTP/1.1'],
  ['a method beyond ASCII', 'G\xc9T /plants HTTP/1.1'],
  ['a method with a NUL', 'G\0ET /plants HTTP/1.1'],
  ['a status line', 'HTTP/1.1 200 OK'],
  ['a header field', 'Host: localhost'],
  ['a mail', 'EHLO localhost'],
  ['a secure shell', 'SSH-2.0-OpenSSH_9.9'],
  ['JSON', '{"name":"a"}'],
  ['a chunk size', '5'],
];

/**
 * RFC 9112 §3 lets a reader treat several spaces as one. `RTSP/1.1` is not HTTP, but Node's parser silently reads it as
 * HTTP/1.1.
 */
const TOLERATED: [name: string, line: string][] = [
  ['two spaces before the target', 'GET  /plants HTTP/1.1'],
  ['two spaces before the version', 'GET /plants  HTTP/1.1'],
  ['RTSP 1.1', 'GET /plants RTSP/1.1'],
];

/** In absolute form without a usable scheme, authority or host (RFC 9110 §4.2). */
const ABSOLUTE: [name: string, target: string][] = [
  ['no slashes', 'http:plants'],
  ['one slash', 'http:/plants'],
  ['three slashes', 'http:///plants'],
  ['an empty authority', 'http://'],
  ['a port without a host', 'http://:80/plants'],
  ['user info', 'http://user@localhost/plants'],
  ['user info with a password', 'http://user:password@localhost/plants'],
  ['empty user info', 'http://@localhost/plants'],
  ['user info and no host', 'http://user@/plants'],
  ['two at signs', 'http://a@b@localhost/plants'],
  ['a port of letters', 'http://localhost:port/plants'],
  ['two ports', 'http://localhost:80:80/plants'],
  ['a bracket that does not close', 'http://[::1/plants'],
  ['brackets without an address', 'http://[]/plants'],
  ['an address of IPv6 without brackets', 'http://::1/plants'],
  ['a backslash in the host', 'http://local\\host/plants'],
  ['an escape in the host that cannot be read', 'http://local%zzhost/plants'],
  ['angle brackets in the host', 'http://<localhost>/plants'],
];

const OTHER_SCHEMES = [
  'ftp://localhost/plants',
  'ws://localhost/plants',
  'file:///plants',
  'x:/plants',
  'javascript:alert(1)',
];

const ORIGINS = [
  'http://localhost',
  'http://localhost:80',
  'http://localhost:',
  'HTTP://LOCALHOST',
  'https://localhost',
  'http://127.0.0.1:1',
  'http://[::1]:1',
  'http://other.example',
  'http://a-b_c~d.example',
  'http://%6cocalhost',
];

const OTHER_PATHS = [
  '//plants',
  '///plants',
  '/plants/',
  '/plants//',
  '//localhost/plants',
  '/./plants',
  '/../plants',
  '/x/../plants',
  '/plants/.',
  '/plants/..',
  '/plants/../plants',
  '/plants/./plants',
  '/%2e/plants',
  '/%2E%2E/plants',
  '/.%2e/plants',
  '/plants/%2e',
  '/plants/%2e%2e',
  '/plants/%2e%2e/plants',
  '/%2fplants',
  '/plants%2f',
  '/plants%2F7',
  '/plants%3Flimit=1',
  '/plants%23',
  '/plants%00',
  '/plants%20',
  '/plants%09',
  '/plants%0d%0aX:%20y',
  '/%2570lants',
  '/plants;x=1',
  '/plants;',
  '/plants,',
  '/plants.',
  '/plants.json',
  '/plants:7',
  '/plants&limit=1',
  '/PLANTS',
  '/Plants',
  '/plant',
  '/plant/webhook',
  '/plantss',
  '/pl\u0061nts7',
  '/plants/7/tag',
  '/webhooks/wh_7/tests',
  '/events/streams',
  '/.env',
  '/.git/config',
  '/wp-login.php',
  '/..;/plants',
  '/docs/../plants',
  '/console/../plants',
  '/docs/%2e%2e/plants',
  '/docs/..%2fplants',
  '/console/%2e%2e%2f%2e%2e%2fetc/passwd',
  '/docs/....//....//etc/passwd',
  '/docs/%252e%252e%252fetc%252fpasswd',
  '/console/..%5c..%5cetc/passwd',
];

const BAD_ESCAPES = [
  '/%',
  '/plants%',
  '/plants/%',
  '/plants/%7',
  '/plants/%zz',
  '/plants/%7g',
  '/plants/% 7',
  '/plants/%u0037',
  '/plants/%ff',
  '/plants/%80',
  '/plants/%c3',
  '/plants/%c3%28',
  '/plants/%c0%af',
  '/plants/%e0%80%af',
  '/plants/%ed%a0%80',
  '/plants/%f4%90%80%80',
  '/plants/%fe%ff',
].filter((target) => !target.includes(' '));

const METHODS = [
  'PUT',
  'PATCH',
  'DELETE',
  'PROPFIND',
  'MKCOL',
  'COPY',
  'LOCK',
  'SEARCH',
  'PURGE',
  'QUERY',
  'LINK',
  'REPORT',
];
const NO_METHODS = ['get', 'Get', 'GETS', 'GE', 'BREW', 'G', 'POSTGET', 'DEBUG', 'X'.repeat(100), '!#$%&'];

const long = (length: number, start = '/plants?x='): string => start.padEnd(length, 'x');

export const targets: Family = {
  name: 'request lines',
  cases: [
    ...LINES.map(([name, line]) => unreadable(name, bare(line))),
    ...TOLERATED.map(([name, line]) => expecting([200, 40000], 'either')(name, bare(line))),
    ...ABSOLUTE.map(([name, target]) => expecting(40000, 'either')(`in absolute form: ${name}`, get(target))),
    ...OTHER_SCHEMES.map((target) =>
      expecting([40000, 40400], 'either')(`in absolute form: the scheme of ${target}`, get(target)),
    ),
    ...ORIGINS.map((origin) => listed(`in absolute form: ${origin}`, get(`${origin}/plants?limit=1`))),
    missing('in absolute form: another path', get('http://localhost/nothing')),
    expecting(302, 'open', { fields: { location: /\/console/ } })(
      'in absolute form: no path means /',
      get('http://localhost'),
    ),
    expecting([302, 40003], 'open')(
      'in absolute form: no path and a query mean /',
      get('http://localhost?limit=1'),
    ),
    expecting(40003, 'open')('in absolute form: the query counts', get('http://localhost/plants?x=1')),
    listed(
      'in absolute form: the Host field does not count (RFC 9112 §3.2.2)',
      exact(
        'GET http://a.example/plants?limit=1 HTTP/1.1',
        'Host: b.example',
        'Authorization: Bearer {token}',
      ),
    ),
    expecting(204, 'open')('OPTIONS *', bare('OPTIONS * HTTP/1.1')),
    ...['GET', 'POST', 'DELETE'].map((method) =>
      expecting([40000, 40400, 40500], 'either')(
        `${method} *`,
        bare(`${method} * HTTP/1.1`, 'Content-Length: 0'),
      ),
    ),
    expecting([40000, 40400], 'either')('OPTIONS of two asterisks', bare('OPTIONS ** HTTP/1.1')),
    expecting([40000, 40400], 'either')('OPTIONS of an asterisk with a query', bare('OPTIONS *?x HTTP/1.1')),
    ...OTHER_PATHS.flatMap((path) => [missing(`GET ${path}`, get(path))]),
    ...[
      '//plants/424242',
      '/plants/./424242',
      '/plants/424242/',
      '/plants//424242',
      '/x/../plants/424242',
    ].map((path) => missing(`DELETE ${path}`, del(path))),
    ...BAD_ESCAPES.map((path) => badEscape(`DELETE ${path}`, del(path))),
    ...['/%70lants?limit=1', '/plant%73?limit=1', '/%70%6c%61%6e%74%73?limit=1', '/plants?%6cimit=%31'].map(
      (path) => listed(`GET ${path}`, get(path)),
    ),
    ...['/plants#x', '/plants#/../x', '/plants?limit=1#x'].map((path) =>
      expecting(40000, 'either')(`a fragment, which no target has: ${path}`, get(path)),
    ),
    ...[
      '/plants/\xff',
      '/plants/\xc3\xa9',
      '/pl\xe4nts',
      '/plants"',
      '/plants<x>',
      '/plants^',
      '/plants`',
      '/plants|',
      '/plants{x}',
      '/plants\\7',
    ].map((path) =>
      expecting([40000, 40400, 40004, 40500], 'either')(`bytes that no URI has: ${path}`, get(path)),
    ),
    ...METHODS.map((method) => {
      const is = expecting(40500, 'open', { fields: { allow: /^GET, HEAD, OPTIONS, POST$/ } });
      return is(`${method} /plants`, bare(`${method} /plants HTTP/1.1`));
    }),
    expecting([40500, 40000], 'either')(
      'TRACE /plants, which would echo the token',
      bare('TRACE /plants HTTP/1.1'),
    ),
    expecting(200, 'open', { head: true })('HEAD /plants', bare('HEAD /plants?limit=1 HTTP/1.1')),
    expecting(40400, 'open', { head: true })(
      'HEAD of a path that is missing',
      bare('HEAD /nothing HTTP/1.1'),
    ),
    expecting(40500, 'open', { head: true })('HEAD of a path without GET', bare('HEAD /plants/7 HTTP/1.1')),
    ...NO_METHODS.map((method) =>
      expecting([40000, 40500], 'either')(`the method ${method}`, bare(`${method} /plants HTTP/1.1`)),
    ),
    ...['HTTP/2.0', 'HTTP/3.0', 'HTTP/0.9', 'HTTP/9.9', 'HTTP/0.0'].map((version) =>
      expecting(50500, 'closed')(version, bare(`GET /plants ${version}`)),
    ),
    ...['HTTP/2', 'HTTP/3'].map((version) =>
      expecting([40000, 50500], 'closed')(version, bare(`GET /plants ${version}`)),
    ),
    expecting([40000, 50500], 'closed')('no version, as in HTTP/0.9', bare('GET /plants')),
    expecting([40000, 50500], 'closed')('the preface of HTTP/2', raw('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')),
    // RFC 9110 §2.5 would read it as 1.1.
    expecting([200, 50500], 'either')('HTTP/1.2', bare('GET /plants?limit=1 HTTP/1.2')),
    expecting(200, 'closed')('HTTP/1.0', bare('GET /plants?limit=1 HTTP/1.0')),
    expecting(200, 'closed')(
      'HTTP/1.0 without Host',
      exact('GET /plants?limit=1 HTTP/1.0', 'Authorization: Bearer {token}'),
    ),
    listed('an empty line before', raw('\r\nGET /plants?limit=1 HTTP/1.1\r\n{fields}\r\n\r\n')),
    listed('a line that arrives byte by byte', bare('GET /plants?limit=1 HTTP/1.1'), 'byte by byte'),
    unreadable('a request line that ends with a line feed', raw('GET /plants HTTP/1.1\n{fields}\r\n\r\n')),
    unreadable('lines that all end with a line feed', (ground) =>
      String(bare('GET /plants HTTP/1.1')(ground)).replaceAll('\r\n', '\n'),
    ),
    unreadable(
      'a request line that ends with a carriage return',
      raw('GET /plants HTTP/1.1\r{fields}\r\n\r\n'),
    ),
    unreadable(
      'a request line of HTTP/1.0 that ends with a line feed',
      raw('GET /plants HTTP/1.0\n{fields}\r\n\r\n'),
    ),
    unreadable('a hello of TLS', () => Buffer.from('16030100c2010000be0303', 'hex')),
    unreadable('3,000 bytes of ff', () => Buffer.alloc(3000, 0xff)),
    expecting(40003, 'open')('a URL of 8,192 bytes', get(long(8192))),
    expecting(41400, 'either')('a URL of 8,193 bytes', get(long(8193))),
    expecting(41400, 'either')('a URL of 16,000 bytes', get(long(16_000))),
    expecting(41400, 'either')('a path of 9,000 bytes', get(long(9000, '/plants/'))),
    expecting(41400, 'either')('a URL of 9,000 bytes for DELETE', del(long(9000, '/plants/7'))),
    expecting(41400, 'either')('9,000 escapes', get(`/plants/${'%41'.repeat(3000)}`)),
    expecting(40003, 'open')(
      'a URL of 8,192 bytes in absolute form',
      get(long(8192, 'http://localhost/plants?x=')),
    ),
    expecting(41400, 'either')(
      'a URL of 8,193 bytes in absolute form',
      get(long(8193, 'http://localhost/plants?x=')),
    ),
    expecting([41400, 43100], 'closed')('a URL of 40,000 bytes', get(long(40_000))),
    expecting([40000, 43100], 'closed')('a method of 40,000 bytes', bare(`${'X'.repeat(40_000)} / HTTP/1.1`)),
  ],
};
