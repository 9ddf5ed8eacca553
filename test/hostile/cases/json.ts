import { type Case, expecting, type Family, posted } from '../case.ts';
import * as texts from './json-texts.ts';

/** RFC 8259 and the contract's decisions: as a whole body, and as a value in a plant. */

const notJson = expecting(40001, 'open');
const noPlant = expecting(40002, 'open');

/** The text between two others; may be arbitrary bytes. */
const within = (before: string, text: string | Buffer, after: string): Buffer =>
  Buffer.concat([Buffer.from(before), Buffer.from(text as string), Buffer.from(after)]);

const strings = texts.strings.flatMap(([name, text, value]): Case[] => [
  expecting(
    value === undefined ? 40002 : 201,
    'open',
    value === undefined ? {} : { plant: { name: value } },
  )(`y_string ${name}, as a name`, posted(`{"name":${text}}`)),
  noPlant(`y_string ${name}, as a body`, posted(text)),
]);

const numbers = texts.numbers.flatMap(([name, text, id]): Case[] => {
  const is = id === undefined ? 40002 : id === '0' ? 40900 : 201;
  const more = id === undefined ? {} : { plant: { id, name: 'Number' } };
  return [
    expecting(is, 'open', more)(`y_number ${name}, as an id`, posted(`{"name":"Number","id":${text}}`)),
    noPlant(`y_number ${name}, in an array`, posted(`[${text}]`)),
  ];
});

const structures = texts.structures.flatMap(([name, text]): Case[] => [
  noPlant(`y_structure ${name}, as a body`, posted(text)),
  /\[{31}|{"a":{"a":{|\[{"a":\[{/.test(text)
    ? notJson(`y_structure ${name}, one deeper`, posted(`[${text}]`))
    : noPlant(`y_structure ${name}, as an unknown member`, posted(`{"name":"a","x":${text}}`)),
]);

const broken = texts.broken.flatMap(([name, text], index): Case[] => {
  const member = ['name', 'tag', 'id', 'x'][index % 4];
  return [
    notJson(`n_ ${name}, as a body`, posted(Buffer.from(text as string))),
    notJson(`n_ ${name}, as ${member}`, posted(within(`{"${member}":`, text, '}'))),
  ];
});

const TYPES = ['null', 'true', 'false', '7', '-0', '1.5', '[]', '["a"]', '{}', '{"name":"a"}'];

/** JSON, but not allowed as a member. */
const members = [
  ...TYPES.map((text) => noPlant(`a name that is ${text}`, posted(`{"name":${text}}`))),
  ...TYPES.map((text) => noPlant(`a tag that is ${text}`, posted(`{"name":"a","tag":${text}}`))),
  ...['null', 'true', '"7"', '""', '[]', '[7]', '{}', '"0x7"'].map((text) =>
    noPlant(`an id that is ${text}`, posted(`{"name":"a","id":${text}}`)),
  ),
  ...['owner', 'Name', 'ID', 'Id', 'name ', 'nam\u00e9', '__proto__', 'createdAt', '$schema', ''].map(
    (member) =>
      noPlant(
        `an unknown member ${JSON.stringify(member)}`,
        posted(`{"name":"a",${JSON.stringify(member)}:"b"}`),
      ),
  ),
  noPlant('a tag of 256 code points', posted(`{"name":"a","tag":"${'\u{1f331}'.repeat(256)}"}`)),
  noPlant('a tag with NUL', posted('{"name":"a","tag":"\\u0000"}')),
  noPlant('a tag with a lone surrogate', posted('{"name":"a","tag":"\\udc00"}')),
];

/** Unicode White_Space: a name of only this is empty (contract, section 1). */
const WHITE_SPACE = [0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003]
  .concat([0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000])
  .map((code) => `\\u${code.toString(16).padStart(4, '0')}`);

/** Invisible, but not White_Space: a name may consist of it. */
const INVISIBLE = ['\u180e', '\u200b', '\u200c', '\u200d', '\u2060', '\u00ad', '\u3164', '\u2800'];

const names = [
  ...WHITE_SPACE.map((text) => noPlant(`a name of the white space ${text}`, posted(`{"name":"${text}"}`))),
  noPlant('a name of all white space', posted(`{"name":"${WHITE_SPACE.join('')}"}`)),
  expecting([201, 40002], 'open')(
    'a name of a byte order mark, which once was a space',
    posted('{"name":"\\ufeff"}'),
  ),
  expecting(201, 'open', { plant: { name: '\u0085a\u2003' } })(
    'a letter between white space stays as it is',
    posted('{"name":"\\u0085a\\u2003"}'),
  ),
  ...INVISIBLE.map((name) =>
    expecting(201, 'open', { plant: { name } })(
      `a name of U+${name.charCodeAt(0).toString(16)}, which is no white space`,
      posted(JSON.stringify({ name })),
    ),
  ),
];

export const json: Family = {
  name: 'JSON',
  cases: [
    ...strings,
    ...numbers,
    ...structures,
    ...broken,
    ...texts.brokenBodies.map(([name, text]) => notJson(`i_ ${name}`, posted(Buffer.from(text as string)))),
    ...texts.plants.map(([name, text, plant]) =>
      expecting(201, 'open', { plant })(`a plant: ${name}`, posted(text)),
    ),
    ...members,
    ...names,
  ],
};

/** How many distinct texts the suite has. */
export const jsonTexts = [
  texts.strings,
  texts.numbers,
  texts.structures,
  texts.broken,
  texts.brokenBodies,
  texts.plants,
].flat().length;
