import { gzipSync } from 'node:zlib';
import { head } from '../../../testkit/sockets/raw-request.ts';
import {
  type Case,
  chunked,
  expecting,
  type Family,
  framed,
  inChunks,
  JSON_TYPE,
  POST,
  posted,
  raw,
} from '../case.ts';
import { silentWebhook } from '../webhook.ts';

/** The type and size of a body, and the bodies of the other operations: contract, sections 3 and 5. */

const PLANT = '{"name":"Body"}';
const created = expecting(201, 'open', { plant: { name: 'Body' } });
const otherType = expecting(41500, 'open');
const otherCoding = expecting(41501, 'open');
/** Its end is known, so the connection may be used again. */
const tooLarge = expecting(41300, 'either');
/** The following bytes are part of the body. */
const neverWhole = expecting(41300, 'closed');
const noBody = expecting(40002, 'open');

const TYPES = [
  'application/json',
  'APPLICATION/JSON',
  'aPPlication/jSON',
  'application/json;charset=utf-8',
  'application/json; charset=UTF-8',
  'application/json \t;\t charset=Utf-8',
  'application/json;charset="utf-8"',
  'application/json;CHARSET="UTF-8"',
];

/** Not covered by the contract: RFC 9110 §5.6.6 and §8.3 would allow some, a strict reader refuses them. */
const DOUBTFUL_TYPES = [
  'application/json;',
  'application/json;;',
  'application/json; ;charset=utf-8',
  'application/json; version=1',
  'application/json; odata="a;charset=latin1"',
  'application/json;charset=utf8',
  'application/json;charset="\\utf-8"',
  'application/json;charset=utf-8;charset=utf-8',
  'application/json;charset=utf-8;x',
];

const OTHER_TYPES = [
  'text/plain',
  'text/json',
  'text/html',
  'text/javascript',
  'application/jsonp',
  'application/json5',
  'application/jso',
  'application/x-json',
  'application/ld+json',
  'application/vnd.api+json',
  'application/problem+json',
  'application/merge-patch+json',
  'application/json-seq',
  'application/x-ndjson',
  'application/xml',
  'application/cbor',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'multipart/mixed; boundary="application/json"',
  'image/png',
  'json',
  'application',
  'application/',
  '/json',
  '/',
  '*/*',
  'application/*',
  '"application/json"',
  'application /json',
  'application/ json',
  'application\\json',
  'application%2Fjson',
  'application/json/',
  'application//json',
  'application/json text/plain',
  'application/json, text/plain',
  'text/plain, application/json',
  'text/plain; application/json',
  'text/plain;charset=utf-8',
  'application/json\xa0',
  'application/js\xf6n',
  '',
  ';',
  '; charset=utf-8',
];

const OTHER_CHARSETS = [
  'latin1',
  'iso-8859-1',
  'us-ascii',
  'utf-16',
  'utf-16le',
  'utf-32',
  'utf-7',
  'windows-1252',
  'gb18030',
  'utf-8x',
  'xutf-8',
  "'utf-8'",
  '"utf-8',
  'utf-8"',
  '""',
  '',
  ' utf-8',
  'utf-8, latin1',
  'utf-8; charset=latin1',
  'utf\xad-8',
];

const CODINGS = [
  'gzip',
  'GZIP',
  'x-gzip',
  'br',
  'deflate',
  'compress',
  'zstd',
  'dcb',
  'gzip, identity',
  'identity, gzip',
  'gzip, gzip',
  'utf-8',
  'gzip;q=0',
  '*',
  '"identity"',
];

const KIB = 1024;
const padded = (size: number) => PLANT.padEnd(size);

const sizes = [
  created('64 KiB, by its length', posted(padded(64 * KIB))),
  created('64 KiB, in one chunk', chunked(inChunks(padded(64 * KIB)))),
  created('64 KiB, in chunks of 1 KiB', chunked(inChunks(...pieces(64 * KIB, KIB)))),
  created('8 KiB, in chunks of a byte', chunked(inChunks(...pieces(8 * KIB, 1)))),
  tooLarge('a byte more, by its length', posted(padded(64 * KIB + 1))),
  tooLarge('a byte more, in one chunk', chunked(inChunks(padded(64 * KIB + 1)))),
  tooLarge('a byte more, in the last of many chunks', chunked(inChunks(...pieces(64 * KIB, KIB), ' '))),
  tooLarge('a mebibyte, in chunks', chunked(inChunks(...pieces(KIB * KIB, 16 * KIB)))),
  tooLarge('a mebibyte of quotes', posted('"'.repeat(KIB * KIB))),
  ...['65537', '4294967313', '9007199254740993', '9223372036854775807'].map((size) =>
    neverWhole(`a length of ${size}, and nothing of it`, framed([`Content-Length: ${size}`], '')),
  ),
  neverWhole('a length of 65537 where 100 was asked for first', expected100('65537')),
  expecting([40100, 41300], 'either')(
    'a body that is too large, without a token',
    raw(`${head(POST, 'Host: x', JSON_TYPE, 'Content-Length: 70000')}${padded(70_000)}`),
  ),
];

function pieces(size: number, each: number): string[] {
  const text = padded(size);
  return Array.from({ length: size / each }, (_, n) => text.slice(n * each, (n + 1) * each));
}

function expected100(size: string): Case['bytes'] {
  return framed([`Content-Length: ${size}`, 'Expect: 100-continue'], '');
}

const gzipped = gzipSync(PLANT);
const bomb = gzipSync(' '.repeat(8 * KIB * KIB));

/** Bodies of the operations on webhooks and tokens, each with its target. */
const OF_OTHERS: [line: string, bodies: string[]][] = [
  [
    'POST /webhooks HTTP/1.1',
    [
      '{}',
      '[]',
      'null',
      '"https://93.184.216.34/"',
      '{"url":null}',
      '{"url":7}',
      '{"url":["https://93.184.216.34/"]}',
      '{"URL":"https://93.184.216.34/"}',
      '{"url":"https://93.184.216.34/","secret":"whsec_x"}',
      '{"url":"https://93.184.216.34/","id":"wh_x"}',
      '{"url":"https://93.184.216.34/","enabled":true}',
      '{"url":"https://93.184.216.34/","description":7}',
      '{"url":"https://93.184.216.34/","description":"\\u0000"}',
      '{"url":"https://93.184.216.34/","description":"\\ud800"}',
      `{"url":"https://93.184.216.34/","description":"${'x'.repeat(256)}"}`,
      '{"url":"https://93.184.216.34/","rate":0}',
      '{"url":"https://93.184.216.34/","rate":-1}',
      '{"url":"https://93.184.216.34/","rate":1001}',
      '{"url":"https://93.184.216.34/","rate":1.5}',
      '{"url":"https://93.184.216.34/","rate":"5"}',
      '{"url":"https://93.184.216.34/","rate":1e400}',
      '{"url":"https://93.184.216.34/\\ud800"}',
    ],
  ],
  [
    'PATCH /webhooks/{webhook} HTTP/1.1',
    [
      '[]',
      'null',
      '{"enabled":"false"}',
      '{"enabled":0}',
      '{"enabled":null}',
      '{"url":null}',
      '{"status":"enabled"}',
      '{"rate":0}',
      '{"description":7}',
    ],
  ],
  [
    'POST /webhooks/{webhook}/rotate-secret HTTP/1.1',
    [
      '[]',
      '{"overlap":-1}',
      '{"overlap":"1h"}',
      '{"overlap":2592001}',
      '{"overlap":0.5}',
      '{"secret":"whsec_x"}',
    ],
  ],
  [
    'POST /webhooks/{webhook}/replay HTTP/1.1',
    [
      '{}',
      '[]',
      '{"since":0}',
      '{"since":"yesterday"}',
      '{"since":"2026-02-30T00:00:00Z"}',
      '{"since":"2026-01-01T00:00:00"}',
      '{"since":"2026-01-01T00:00:00Z","state":"lost"}',
      '{"since":"2026-01-01T00:00:00Z","state":null}',
      '{"since":"2026-01-01T00:00:00Z","until":"2026-01-02T00:00:00Z"}',
    ],
  ],
  ['POST /webhooks/{webhook}/test HTTP/1.1', ['[]', 'null', '{"x":1}']],
  [
    'POST /tokens HTTP/1.1',
    [
      '[]',
      'null',
      '"plants:read"',
      '{"scopes":[]}',
      '{"scopes":"plants:read tokens:write"}',
      '{"scopes":{"0":"plants:read"}}',
      '{"scopes":["plants:read","plants:read"]}',
      '{"scopes":["admin"]}',
      '{"scopes":["*"]}',
      '{"scopes":["__proto__"]}',
      '{"scopes":[null]}',
      `{"scopes":[${'"plants:read",'.repeat(4_000)}"plants:read"]}`,
      '{"label":7}',
      '{"label":null}',
      '{"label":"\\u0000"}',
      '{"label":"\\ud800"}',
      '{"label":"two\\r\\nlines"}',
      `{"label":"${'x'.repeat(256)}"}`,
      '{"expiresIn":0}',
      '{"expiresIn":-1}',
      '{"expiresIn":0.5}',
      '{"expiresIn":1e400}',
      '{"expiresIn":9223372036854775807}',
      '{"expiresIn":"90d"}',
      '{"expiresAt":"2099-01-01T00:00:00Z"}',
      '{"user":"admin"}',
      '{"token":"pst_x"}',
      '{"bootstrap":true}',
    ],
  ],
  [
    'POST /tokens/tok_x/rotate HTTP/1.1',
    [
      '[]',
      '{"overlap":-1}',
      '{"overlap":2592001}',
      '{"overlap":0.5}',
      '{"scopes":["plants:read"]}',
      '{"expiresIn":60}',
    ],
  ],
];

export const bodies: Family = {
  name: 'bodies',
  cases: [
    ...TYPES.map((type) => created(`the type ${type}`, posted(PLANT, [`Content-Type: ${type}`]))),
    ...DOUBTFUL_TYPES.map((type) =>
      expecting([201, 41500], 'open')(`the type ${type}`, posted(PLANT, [`Content-Type: ${type}`])),
    ),
    ...OTHER_TYPES.map((type) => otherType(`the type ${type}`, posted(PLANT, [`Content-Type: ${type}`]))),
    ...OTHER_CHARSETS.map((charset) =>
      otherType(
        `the charset ${charset}`,
        posted(PLANT, [`Content-Type: application/json; charset=${charset}`]),
      ),
    ),
    otherType('no type', posted(PLANT, [])),
    expecting([40000, 41500], 'either')('the type twice, alike', posted(PLANT, [JSON_TYPE, JSON_TYPE])),
    expecting([40000, 41500], 'either')(
      'the type twice, JSON first',
      posted(PLANT, [JSON_TYPE, 'Content-Type: text/plain']),
    ),
    expecting([40000, 41500], 'either')(
      'the type twice, JSON last',
      posted(PLANT, ['Content-Type: text/plain', JSON_TYPE]),
    ),
    ...CODINGS.map((coding) =>
      otherCoding(`the coding ${coding}`, posted(PLANT, [JSON_TYPE, `Content-Encoding: ${coding}`])),
    ),
    otherCoding('a plant in gzip', posted(gzipped, [JSON_TYPE, 'Content-Encoding: gzip'])),
    otherCoding('8 MiB in 8 KB of gzip', posted(bomb, [JSON_TYPE, 'Content-Encoding: gzip'])),
    expecting([40000, 41501], 'either')(
      'a coding in two fields',
      posted(PLANT, [JSON_TYPE, 'Content-Encoding: identity', 'Content-Encoding: gzip']),
    ),
    expecting(40001, 'open')('a plant in gzip that no field tells of', posted(gzipped)),
    expecting([201, 41501], 'open')(
      'the coding identity',
      posted(PLANT, [JSON_TYPE, 'Content-Encoding: identity']),
    ),
    expecting([201, 41501], 'open')('an empty coding', posted(PLANT, [JSON_TYPE, 'Content-Encoding:'])),
    ...sizes,
    ...OF_OTHERS.flatMap(([line, texts]) =>
      texts.map((text) =>
        noBody(`${line.replace(' HTTP/1.1', '')} ${text.slice(0, 80)}`, posted(text, [JSON_TYPE], line)),
      ),
    ),
  ],
  prepare: async (service, { token }) => ({ webhook: await silentWebhook(service, token) }),
};
