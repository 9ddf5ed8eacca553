import type { Schema } from '../../../testkit/contract/document.ts';
import type { Mutation } from './mutation.ts';

/** A JSON text for a member, and the codes that may answer it. */
export type Wrong = [Mutation['codes'], string];

/** JSON texts that break a member's rule. */
export function wrongTexts(member: string, schema: Schema): Wrong[] {
  const types = [schema.type ?? []].flat();
  const texts = ['[]', '{}', '["x"]', '{"x":1}'];
  if (!types.includes('null')) texts.push('null');
  if (!types.includes('boolean')) texts.push('true', 'false');
  else texts.push('"true"', '1', '""');
  if (types.includes('integer')) {
    texts.push('"7"', '""', ...NUMBERS, ...NEARLY);
    if (schema.minimum !== undefined) texts.push(String(schema.minimum - 1));
    if (schema.maximum !== undefined) texts.push(String(schema.maximum + 1));
  } else texts.push('7', '-0', '1.5');
  if (types.includes('string')) texts.push(...wrongStrings(schema));
  if (schema.enum) texts.push('""', ...schema.enum.map((one) => JSON.stringify(`${one} `)));
  const further = FURTHER[member] ?? [];
  return [...texts.map((text): Wrong => [[40002], text]), ...further];
}

const NUMBERS = [
  '0.5',
  '7.5',
  '-1e-1',
  '1e400',
  '-1e400',
  '9223372036854775808',
  '-9223372036854775809',
  '1e19',
];
/** Not integers, though a JS number rounds them to one. */
const NEARLY = ['1.00000000000000000001', '0.99999999999999999999', '7.0000000000000000000000001', '1e-400'];

function wrongStrings({ minLength = 0, maxLength, pattern = '' }: Schema): string[] {
  const rule = new RegExp(pattern, 'u');
  const long =
    maxLength === undefined ? [] : ['a', '\u{1F331}', 'e\u0301'].map((char) => char.repeat(maxLength + 1));
  const texts = [
    ...(minLength > 0 ? [''] : []),
    ...[' ', '\t\n', '\u00A0\u2003'].filter((text) => !rule.test(text)),
    ...long,
  ];
  const escapes =
    pattern === '' ? [] : ['"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udc00x"', '"\\udc00\\ud800"'];
  return [...texts.map((text) => JSON.stringify(text)), ...escapes];
}

/** Forbidden URLs, without names, since those would be looked up. */
const WRONG_URLS: Wrong[] = [
  'ftp://127.0.0.1/',
  'file:///etc/passwd',
  'https://10.0.0.1/',
  'https://[::1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://169.254.169.254/latest',
  'http://192.168.0.1/',
  'https://0.0.0.0/',
  'https://224.0.0.1/',
  'http://8.8.8.8/',
  'http://user@127.0.0.1/',
  'http://user:password@127.0.0.1/',
  'http://127.0.0.1:0/',
  'http://127.0.0.1:65536/',
  ' http://127.0.0.1/',
  'http://127.0.0.1/ x',
  'http:\\\\127.0.0.1\\',
  'http:/127.0.0.1/',
  'http:///127.0.0.1/',
  '//127.0.0.1/',
  '/hook',
  'https://',
  'x',
  'javascript:alert(1)',
].map((url) => [[42201], JSON.stringify(url)]);

const WRONG_TIMES: Wrong[] = [
  '',
  'now',
  '2026-11-21',
  '2026-11-21 08:00:00Z',
  '2026-11-21T08:00Z',
  '2026-11-21T08:00:00',
  '2026-02-30T08:00:00Z',
  '2026-13-01T08:00:00Z',
  '2026-11-21T24:00:00Z',
  '2026-11-21T23:59:60Z',
  '2026-11-21T08:00:00+24:00',
  '2026-11-21T08:00:00.Z',
  '+002026-11-21T08:00:00Z',
  '1763712000',
].map((time) => [[40002], JSON.stringify(time)]);

/** Rules that only a member's description or the contract states. */
const FURTHER: Readonly<Record<string, Wrong[]>> = {
  'PlantInput.name': [[[40002], JSON.stringify('\u{1F331}'.repeat(256))]],
  'PlantInput.tag': [[[40002], JSON.stringify('\u{1F331}'.repeat(256))]],
  'TokenInput.label': [[[40002], JSON.stringify('\u{1F331}'.repeat(256))]],
  'TokenInput.scopes': [
    '"plants:read"',
    '["plants:read","plants:read"]',
    '["plants"]',
    '[["plants:read"]]',
  ].map((text) => [[40002], text]),
  'WebhookInput.url': WRONG_URLS,
  'WebhookPatch.url': WRONG_URLS,
  'ReplayInput.since': WRONG_TIMES,
};
