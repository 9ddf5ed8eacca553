import {
  bare,
  type Case,
  chunked,
  expecting,
  type Family,
  framed,
  inChunks,
  POST,
  raw,
  smuggled,
  unreadable,
} from '../case.ts';

/**
 * Where a request ends: RFC 9112, sections 6, 7 and 9. A request hidden in another must never run. One long file,
 * because most of it is tables.
 */

const PLANT = '{"name":"Framed"}';
const SIZE = '11';
const OLD = POST.replace('1.1', '1.0');
const created = expecting(201, 'open', { plant: { name: 'Framed' } });

/** A request follows that would delete a plant if this one ended elsewhere. */
const hiding = (fields: readonly string[], rest: string, line = POST): Case['bytes'] => {
  const before = framed(fields, rest, line);
  return (ground) => String(before(ground)) + smuggled(ground);
};

const LENGTHS: [name: string, value: string][] = [
  ['is negative', '-1'],
  ['has a plus sign', '+17'],
  ['has a letter after it', '17x'],
  ['is hexadecimal', '0x11'],
  ['has a fraction', '17.0'],
  ['has an exponent', '17e0'],
  ['is a list of two equal ones', '17, 17'],
  ['is a list of two different ones', '17, 5'],
  ['is a list with an empty end', '17,'],
  ['is two numbers', '1 7'],
  ['is parted by a tab', '1\t7'],
  ['is over 64 bits', '99999999999999999999999'],
  ['is 2^64 + 17, which wraps to 17', '18446744073709551633'],
  ['is empty', ''],
  ['is in quotes', '"17"'],
  ['is in Arabic digits', '\xd9\xa1\xd9\xa7'],
  ['has a no-break space', '\xa017'],
  ['has an underscore', '1_7'],
  ['is NaN', 'NaN'],
  ['has a parameter', '17;x=1'],
];

/** The end of the body is undefined, so nothing can follow it. */
const OPEN_CODINGS: [name: string, value: string][] = [
  ['gzip alone', 'gzip'],
  ['gzip after chunked', 'chunked, gzip'],
  ['chunked twice', 'chunked, chunked'],
  ['identity', 'identity'],
  ['a longer word', 'xchunked'],
  ['a word with an end', 'chunkedx'],
  ['a parameter', 'chunked;q=1'],
  ['quotes', '"chunked"'],
  ['a vertical tab before it', '\x0bchunked'],
  ['a no-break space before it', '\xa0chunked'],
  ['a NUL after it', 'chunked\0'],
  ['nothing', ''],
  ['a comma alone', ','],
  ['the Kelvin sign for k', 'chun\xe2\x84\xaaed'],
  ['trailers, which is no coding', 'trailers'],
];

/** The last coding is chunked, so the end is known; the content is not. */
const UNKNOWN_CODINGS = ['gzip', 'compress', 'deflate', 'br', 'x-none', 'gzip, deflate'];

/** Unknown or unreadable, as long as nothing after it runs. */
const openEnded = expecting([40000, 50100], 'closed');

const BROKEN_CHUNKS: [name: string, bytes: string][] = [
  ['a size that is no number', `x\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a negative size', `-11\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a size with a plus sign', `+11\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a size with 0x', `0x11\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a size with h', `11h\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a size with a point', `11.0\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a size with an underscore', `1_1\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a size of 17 digits', `fffffffffffffffff\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a size that wraps to 17', `10000000000000011\r\n${PLANT}\r\n0\r\n\r\n`],
  ['no size', `\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a space before the size', ` 11\r\n${PLANT}\r\n0\r\n\r\n`],
  ['two sizes', `11 11\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a size line that ends without a carriage return', `11\n${PLANT}\r\n0\r\n\r\n`],
  ['a size line that ends without a line feed', `11\r${PLANT}\r\n0\r\n\r\n`],
  ['a chunk that ends without a carriage return', `11\r\n${PLANT}\n0\r\n\r\n`],
  ['a chunk that does not end', `11\r\n${PLANT}0\r\n\r\n`],
  ['a chunk that is longer than its size', `10\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a chunk that is shorter than its size', `12\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a last chunk that ends without a carriage return', `11\r\n${PLANT}\r\n0\n\r\n`],
  ['a body that ends with a line feed alone', `11\r\n${PLANT}\r\n0\r\n\n`],
  ['a NUL in the size', `1\x001\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a NUL in an extension', `11;a=\0\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a line feed in an extension', `11;a\nb\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a carriage return in an extension', `11;a\rb\r\n${PLANT}\r\n0\r\n\r\n`],
  ['a comma after the size', `11,\r\n${PLANT}\r\n0\r\n\r\n`],
  ['full-width digits', `\xef\xbc\x91\xef\xbc\x91\r\n${PLANT}\r\n0\r\n\r\n`],
  ['the text of a request line', `GET / HTTP/1.1\r\n\r\n`],
  ['a trailer without a colon', `11\r\n${PLANT}\r\n0\r\nX\r\n\r\n`],
  ['a trailer with a space in its name', `11\r\n${PLANT}\r\n0\r\nX y: z\r\n\r\n`],
  ['a trailer with a space before its colon', `11\r\n${PLANT}\r\n0\r\nX : z\r\n\r\n`],
  ['a trailer that is folded', `11\r\n${PLANT}\r\n0\r\n X: z\r\n\r\n`],
  ['a trailer with a NUL', `11\r\n${PLANT}\r\n0\r\nX: a\0b\r\n\r\n`],
  ['a trailer that ends with a line feed alone', `11\r\n${PLANT}\r\n0\r\nX: z\n\r\n`],
];

const GOOD_CHUNKS: [name: string, bytes: string][] = [
  ['in one chunk', inChunks(PLANT)],
  ['in a chunk a byte', inChunks(...PLANT)],
  ['with zeros before the size', `0000011\r\n${PLANT}\r\n000\r\n\r\n`],
  ['with an extension', `11;name=value\r\n${PLANT}\r\n0;last\r\n\r\n`],
  ['with an extension in quotes', `11;name="a;b,c"\r\n${PLANT}\r\n0\r\n\r\n`],
  ['with an extension without a value', `11;name\r\n${PLANT}\r\n0\r\n\r\n`],
  ['with a trailer', `11\r\n${PLANT}\r\n0\r\nX-Sum: 1\r\n\r\n`],
  ['with two trailers of one name', `11\r\n${PLANT}\r\n0\r\nX: 1\r\nX: 2\r\n\r\n`],
];

/** Trailers must not frame, route or authenticate (RFC 9110 §6.5.1). They may be ignored or refused. */
const TRAILERS = [
  'Content-Length: 5',
  'Transfer-Encoding: gzip',
  'Host: elsewhere',
  'Authorization: Bearer elsewhere',
  'Content-Type: text/plain',
  'Content-Encoding: gzip',
  'Idempotency-Key: in-a-trailer',
  'Expect: 200-ok',
];

const BOTH: [name: string, fields: string[]][] = [
  ['length before coding', [`Content-Length: 17`, 'Transfer-Encoding: chunked']],
  ['coding before length', ['Transfer-Encoding: chunked', 'Content-Length: 17']],
  ['a length of 0', ['Content-Length: 0', 'Transfer-Encoding: chunked']],
  ['a length that is the whole of it', ['Content-Length: 27', 'Transfer-Encoding: chunked']],
  ['names in other cases', ['content-length: 17', 'TRANSFER-ENCODING: chunked']],
  ['a coding in another case', ['Content-Length: 17', 'Transfer-Encoding: Chunked']],
  ['a tab before the coding', ['Content-Length: 17', 'Transfer-Encoding:\tchunked']],
  ['spaces after the coding', ['Content-Length: 17', 'Transfer-Encoding: chunked   ']],
  ['identity', ['Content-Length: 17', 'Transfer-Encoding: identity']],
  ['an empty coding', ['Content-Length: 17', 'Transfer-Encoding:']],
  [
    'a coding after a hundred other fields',
    ['Content-Length: 17', ...many(100), 'Transfer-Encoding: chunked'],
  ],
  ['a length that cannot be read', ['Content-Length: x', 'Transfer-Encoding: chunked']],
];

/** Names similar to those of the framing, which another reader may mistake for them. */
const NEARLY: [name: string, field: string][] = [
  ['a space before the colon of the coding', 'Transfer-Encoding : chunked'],
  ['a tab before the colon of the coding', 'Transfer-Encoding\t: chunked'],
  ['a space before the name of the coding', ' Transfer-Encoding: chunked'],
  ['a fold before the coding', 'X: y\r\n Transfer-Encoding: chunked'],
  ['a fold within the coding', 'Transfer-Encoding:\r\n chunked'],
  ['a line feed before the coding', 'X: y\nTransfer-Encoding: chunked'],
  ['a carriage return before the coding', 'X: y\rTransfer-Encoding: chunked'],
  ['a NUL in the name', 'Transfer-Encoding\0: chunked'],
  ['a byte beyond ASCII in the name', 'Transfer-Encoding\xa0: chunked'],
  ['a space before the colon of the length', 'Content-Length : 17'],
  ['a fold within the length', 'Content-Length: 1\r\n 7'],
  ['a line feed before the length', 'X: y\nContent-Length: 17'],
];

function many(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `X-${n}: ${n}`);
}

const ENDS: [name: string, wire: Case['bytes']][] = [
  ['in the method', raw('PO')],
  ['in the target', raw('POST /pla')],
  ['after the request line', raw(`${POST}\r\n`)],
  ['in a field', raw(`${POST}\r\n{fields}\r\nContent-Ty`)],
  ['between the fields and the empty line', raw(`${POST}\r\n{fields}\r\n`)],
  ['in the middle of the empty line', raw(`${POST}\r\n{fields}\r\n\r`)],
  ['before a body with a length', framed(['Content-Length: 17'], '')],
  ['one byte before the end of the length', framed(['Content-Length: 17'], PLANT.slice(0, -1))],
  ['before the first chunk', chunked('')],
  ['in the size of a chunk', chunked('1')],
  ['in the line of a chunk', chunked(`${SIZE}\r`)],
  ['in a chunk', chunked(`${SIZE}\r\n{"na`)],
  ['after a whole plant in a chunk', chunked(`${SIZE}\r\n${PLANT}\r\n`)],
  ['after the last chunk', chunked(`${SIZE}\r\n${PLANT}\r\n0\r\n`)],
  ['in a trailer', chunked(`${SIZE}\r\n${PLANT}\r\n0\r\nX: y`)],
];

const METHODS = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'PUT', 'TRACE'];

/** An unexpected body: it is skipped or the connection closed, but nothing in it runs. */
const unasked = METHODS.flatMap((method): Case[] => {
  const path = method === 'DELETE' ? '/plants/-7' : '/plants';
  const is = { GET: 200, HEAD: 200, DELETE: 40401, OPTIONS: 204 }[method] ?? 40500;
  const more = method === 'HEAD' ? { head: true as const } : {};
  const as = expecting(method === 'TRACE' ? [40500, 40000] : is, 'either', more);
  return [
    as(`a request in the body of a ${method}, by its length`, (ground) => {
      const inside = smuggled(ground);
      return framedBare(`${method} ${path} HTTP/1.1`, [`Content-Length: ${inside.length}`], inside)(ground);
    }),
    as(`a request in the body of a ${method}, in a chunk`, (ground) =>
      framedBare(
        `${method} ${path} HTTP/1.1`,
        ['Transfer-Encoding: chunked'],
        inChunks(smuggled(ground)),
      )(ground),
    ),
  ];
});

function framedBare(line: string, fields: string[], rest: string): Case['bytes'] {
  return (ground) => String(bare(line, ...fields)(ground)) + rest;
}

export const framing: Family = {
  name: 'framing',
  cases: [
    ...LENGTHS.map(([name, value]) =>
      unreadable(`a length that ${name}`, hiding([`Content-Length: ${value}`], PLANT)),
    ),
    unreadable('two equal lengths', hiding(['Content-Length: 17', 'Content-Length: 17'], PLANT)),
    unreadable('two different lengths', hiding(['Content-Length: 17', 'content-length: 5'], PLANT)),
    unreadable(
      'a length that is hidden after a hundred fields',
      hiding(['Content-Length: 17', ...many(100), 'Content-Length: 5'], PLANT),
    ),
    created('a length with zeros before it', framed(['Content-Length: 00017'], PLANT)),
    created('a length between spaces and tabs', framed(['Content-Length: \t 17 \t'], PLANT)),
    created('a length whose name is in upper case', framed(['CONTENT-LENGTH: 17'], PLANT)),
    created('a body that arrives byte by byte', framed(['Content-Length: 17'], PLANT), 'byte by byte'),
    expecting(40001, 'open')('no length and no coding, so no body', framed([], '')),
    ...OPEN_CODINGS.map(([name, value]) =>
      openEnded(`a coding: ${name}`, hiding([`Transfer-Encoding: ${value}`], inChunks(PLANT))),
    ),
    ...UNKNOWN_CODINGS.map((coding) =>
      expecting(50100, 'either')(
        `a coding before chunked: ${coding}`,
        framed([`Transfer-Encoding: ${coding}, chunked`], inChunks(PLANT)),
      ),
    ),
    expecting([40000, 50100], 'either')(
      'identity before chunked (RFC 9112 knows it no more)',
      framed(['Transfer-Encoding: identity, chunked'], inChunks(PLANT)),
    ),
    openEnded(
      'the coding given twice',
      hiding(['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], inChunks(PLANT)),
    ),
    openEnded(
      'two different codings',
      hiding(['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], inChunks(PLANT)),
    ),
    created('a coding in upper case', framed(['Transfer-Encoding: CHUNKED'], inChunks(PLANT))),
    unreadable(
      'a coding in HTTP/1.0 (RFC 9112 §6.1)',
      hiding(['Transfer-Encoding: chunked'], inChunks(PLANT), OLD),
    ),
    unreadable(
      'a coding and a length in HTTP/1.0',
      hiding(['Transfer-Encoding: chunked', 'Content-Length: 17'], inChunks(PLANT), OLD),
    ),
    ...BOTH.map(([name, fields]) =>
      expecting([40000, 50100], 'closed')(`length and coding: ${name}`, hiding(fields, inChunks(PLANT))),
    ),
    ...NEARLY.map(([name, field]) =>
      unreadable(`nearly framing: ${name}`, hiding([field, 'X-Last: 1'], inChunks(PLANT))),
    ),
    ...BROKEN_CHUNKS.map(([name, bytes]) =>
      unreadable(`chunks: ${name}`, hiding(['Transfer-Encoding: chunked'], bytes)),
    ),
    ...GOOD_CHUNKS.map(([name, bytes]) => created(`a body ${name}`, chunked(bytes))),
    created('chunks that arrive byte by byte', chunked(inChunks(PLANT)), 'byte by byte'),
    ...['11 ;a=b', '11; a=b', '11;a = b', '11 ', '11;a="', '11;;', '11;='].map((line) =>
      expecting([201, 40000], 'either')(
        `bad white space or an empty name in an extension: ${line}`,
        chunked(`${line}\r\n${PLANT}\r\n0\r\n\r\n`),
      ),
    ),
    expecting([40000, 41300], 'closed')(
      'an extension of 20 KB',
      chunked(`11;${'x'.repeat(20_000)}\r\n${PLANT}\r\n0\r\n\r\n`),
    ),
    expecting([40000, 41300, 43100], 'closed')(
      'trailers of 70 KB',
      chunked(`11\r\n${PLANT}\r\n0\r\n${`X: ${'x'.repeat(700)}\r\n`.repeat(100)}\r\n`),
    ),
    ...TRAILERS.map((field) =>
      expecting([201, 40000], 'either')(
        `a trailer ${field}`,
        chunked(`11\r\n${PLANT}\r\n0\r\n${field}\r\n\r\n`),
      ),
    ),
    ...ENDS.map(([name, wire]) => unreadable(`the client ends ${name}`, wire, 'then the client ends')),
    ...unasked,
    expecting(40001, 'open')('a body of no bytes, by its length', framed(['Content-Length: 0'], '')),
    expecting(40001, 'open')('a body of no bytes, in chunks', chunked('0\r\n\r\n')),
    {
      name: 'more body than its length says: the rest is no request',
      bytes: framed(['Content-Length: 17'], `${PLANT}}{"name":"x"}\r\n\r\n`),
      answers: [{ is: [201] }, { is: [40000] }],
      leaves: 'closed',
    },
    {
      name: 'a length that cuts the body: the rest is no request',
      bytes: framed(['Content-Length: 8'], `${PLANT}\r\n\r\n`),
      answers: [{ is: [40001] }, { is: [40000] }],
      leaves: 'closed',
    },
  ],
};
