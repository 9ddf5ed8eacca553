import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Operation, Schema } from '../../../testkit/contract/document.ts';
import { bodyOf, type Draft, type Member, withBytes } from '../draft.ts';
import { type Mutation, mutation } from './mutation.ts';
import { wrongTexts } from './wrong-values.ts';

/** What can be wrong with a body that the operation accepts. */
export function bodyMutations({ body }: Operation): fc.Arbitrary<Mutation>[] {
  if (!body) return [];
  const { schema, name, isRequired } = body;
  const required = schema.required ?? [];
  const always = [
    unknownMember(schema),
    fc.constantFrom(...NO_OBJECTS).map((text) => replaced([40002], 'no object', text)),
    notJson(),
    brokenBytes(),
    cut(),
    duplicate(),
    fc.integer({ min: 32, max: 5_000 }).map((depth) => replaced([40001], 'too deep', nested(depth))),
    fc.constant(replaced([40002], 'as deep as may be', nested(31))),
    fc.constantFrom(...WRONG_TYPES).map(typed),
    fc.constantFrom('gzip', 'br', 'deflate', 'identity, gzip').map(encoded),
    fc.integer({ min: 1, max: 200 }).map(tooLarge),
    fc.constant(replaced([40001], 'white space', ' \n')),
  ];
  const ofMembers = Object.entries(schema.properties ?? {}).flatMap(([member, rule]) =>
    wrongTexts(`${name}.${member}`, rule).map(([codes, text]) => changed(codes, member, text)),
  );
  return [
    ...always,
    ...(ofMembers.length > 0 ? Array<fc.Arbitrary<Mutation>>(4).fill(fc.constantFrom(...ofMembers)) : []),
    ...(required.length > 0 ? [fc.constantFrom(...required).map(without)] : []),
    ...(isRequired ? [fc.constant(empty), fc.constant(absent)] : []),
  ];
}

const NO_OBJECTS = ['[]', 'null', '"x"', '7', 'true', '[{}]', '1e400', '[{"name":"Alder"}]'];

const WRONG_TYPES = [
  'text/plain',
  'application/jsonx',
  'application/problem+json',
  'application/x-www-form-urlencoded',
  'application/json; charset=latin1',
  'application/json; charset=utf-16',
  'application/json; version=1',
  'multipart/form-data; boundary=x',
  'json',
  '*/*',
];

/** Names that are not members of the service's objects, though some look like it. */
const UNKNOWN = [
  'Name',
  ' name',
  'name ',
  'ID',
  '',
  '__proto__',
  'constructor',
  'nam\u0435',
  'toString',
  '$ref',
  '0',
];

function unknownMember({ properties = {} }: Schema): fc.Arbitrary<Mutation> {
  const names = fc.oneof(fc.constantFrom(...UNKNOWN), fc.string({ maxLength: 300 }));
  const values = fc.constantFrom('1', 'null', '"x"', '{}', '[[]]', '{"name":"Alder"}', '1e400');
  return fc
    .tuple(
      names.filter((name) => !Object.hasOwn(properties, name)),
      values,
    )
    .map(([name, text]) =>
      mutation('body', [40002], `unknown member ${JSON.stringify(name)}`, (draft) =>
        withMembers(draft, [...membersOf(draft), { name, text, value: undefined }]),
      ),
    );
}

function changed(codes: Mutation['codes'], name: string, text: string): Mutation {
  return mutation('body', codes, `${name}: ${text}`, (draft) => {
    const others = membersOf(draft).filter((member) => member.name !== name);
    return withMembers(draft, [...others, { name, text, value: undefined }]);
  });
}

function without(name: string): Mutation {
  return mutation('body', [40002], `without ${name}`, (draft) =>
    withMembers(
      draft,
      membersOf(draft).filter((member) => member.name !== name),
    ),
  );
}

/** Repeats a member; its name may be escaped the second time. */
function duplicate(): fc.Arbitrary<Mutation> {
  return fc.tuple(fc.boolean(), fc.nat(9)).map(([isEscaped, place]) =>
    mutation('body', [40001], 'a member twice', (draft) => {
      const found = membersOf(draft);
      const { name, text } = found[place % Math.max(1, found.length)] ?? { name: 'x', text: '1' };
      const [first = '', ...rest] = name;
      const escaped = `\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}${rest.join('')}`;
      const members = found.length > 0 ? found : [{ name, text }];
      const texts = members.map((member) => `${JSON.stringify(member.name)}:${member.text}`);
      return withBytes(draft, Buffer.from(`{${texts.join()},"${isEscaped ? escaped : name}":${text}}`));
    }),
  );
}

const NOT_JSON = [
  "{'name':'Alder'}",
  '{name:"Alder"}',
  '{"name":"Alder",}',
  '{,"name":"Alder"}',
  '{"name":"Alder"}}',
  '{"name":"Alder"} x',
  '{"name":"Alder"}{"name":"Alder"}',
  '{"name":"Alder"/* x */}',
  '{"name" "Alder"}',
  '{"name":"Al\nder"}',
  '{"name":"Al\u0000der"}',
  '{"name":"\\x41"}',
  '{"name":"\\u12"}',
  '{"name":"\\ud8"}',
  '{"name":"Alder","id":07}',
  '{"name":"Alder","id":+7}',
  '{"name":"Alder","id":.7}',
  '{"name":"Alder","id":7.}',
  '{"name":"Alder","id":7e}',
  '{"name":"Alder","id":0x7}',
  '{"name":"Alder","id":--7}',
  '{"name":"Alder","id":NaN}',
  '{"name":"Alder","id":-Infinity}',
  '{"name":"Alder","id":1_000}',
  '{"name":True}',
  '{"name":undefined}',
  '\u00A0{"name":"Alder"}',
  '\uFEFF{"name":"Alder"}',
  '{"name":"Alder"}\u0000',
  '\u0000',
  'name=Alder',
  '<name>Alder</name>',
];

function notJson(): fc.Arbitrary<Mutation> {
  return fc.constantFrom(...NOT_JSON).map((text) => replaced([40001], 'not JSON', text));
}

/** Not UTF-8: a lone byte, overlong, a surrogate, too high, truncated. */
const BAD_BYTES = ['ff', '80', 'c0af', 'e080af', 'eda080', 'f4908080', 'e282', 'fe'];

function brokenBytes(): fc.Arbitrary<Mutation> {
  return fc.tuple(fc.constantFrom(...BAD_BYTES), fc.nat(10_000)).map(([hex, place]) =>
    mutation('body', [40001], `not UTF-8: ${hex}`, (draft) => {
      const body = (bodyOf(draft) ?? Buffer.from('{"x":"y"}')).subarray(0, BODY_BYTES / 2);
      const at = place % (body.length + 1);
      return withBytes(
        draft,
        Buffer.concat([body.subarray(0, at), Buffer.from(hex, 'hex'), body.subarray(at)]),
      );
    }),
  );
}

/** An object is incomplete before its last brace. */
function cut(): fc.Arbitrary<Mutation> {
  return fc.nat(10_000).map((place) =>
    mutation('body', [40001], 'cut off', (draft) => {
      const text = (bodyOf(draft) ?? Buffer.from('{"x":1}')).toString().trim();
      const bytes = Buffer.from(text);
      return withBytes(draft, bytes.subarray(0, 1 + (place % (bytes.length - 1))));
    }),
  );
}

function typed(contentType: string): Mutation {
  return mutation('body', [41500], contentType, (draft) => {
    const { body, framing } = draft;
    const bytes = bodyOf(draft) ?? Buffer.from('{}');
    return { ...draft, contentType, framing, body: body ?? { bytes } };
  });
}

function encoded(coding: string): Mutation {
  return mutation('body', [41501], `Content-Encoding: ${coding}`, (draft) => {
    const bytes = gzipSync(bodyOf(draft) ?? '{}');
    const others = draft.fields.filter((line) => !line.startsWith('Content-Encoding'));
    return { ...withBytes(draft, bytes), fields: [...others, `Content-Encoding: ${coding}`] };
  });
}

const BODY_BYTES = 64 * 1024;

function tooLarge(more: number): Mutation {
  return mutation('body', [41300], 'too large', (draft) =>
    withBytes(
      draft,
      Buffer.concat([
        Buffer.alloc(BODY_BYTES, ' '),
        bodyOf(draft) ?? Buffer.from('{}'),
        Buffer.alloc(more, ' '),
      ]),
    ),
  );
}

const empty = mutation('body', [40001], 'empty', (draft) =>
  withBytes({ ...draft, framing: 'length' }, Buffer.alloc(0)),
);
/** Neither type nor body: the contract leaves open which is reported. */
const absent = mutation('body', [40001, 41500], 'absent', (draft) => ({
  ...draft,
  contentType: undefined,
  framing: 'length',
  body: undefined,
}));

function replaced(codes: Mutation['codes'], name: string, text: string): Mutation {
  return mutation('body', codes, name, (draft) => withBytes(draft, Buffer.from(text)));
}

function nested(arrays: number): string {
  return `{"x":${'['.repeat(arrays)}${']'.repeat(arrays)}}`;
}

function membersOf({ body }: Draft): readonly Member[] {
  return body !== undefined && 'members' in body ? body.members : [];
}

function withMembers(draft: Draft, members: readonly Member[]): Draft {
  return { ...draft, contentType: draft.contentType ?? 'application/json', body: { members, space: '' } };
}
