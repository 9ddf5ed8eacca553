import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { startService } from '../../../testkit/service/service.ts';
import { exchange } from '../../../testkit/sockets/raw-client.ts';

const service = await startService();
after(() => service.stop());

const create = (body: unknown, token = service.token) => service.request('POST', '/plants', { body, token });
const everything = async (token: string) =>
  succeeded(await service.request('GET', '/plants?fields=id,name,tag', { token }), 200);

test('an id that is not a 64-bit integer is refused', async () => {
  const wrong = ['7.5', '1e-1', '1e19', '1e400', '-1e400', '9223372036854775808', '-9223372036854775809'];
  for (const id of [...wrong, '"7"', 'null', 'true', '[7]', '{"id":7}', '""']) {
    failed(await create(`{"name":"Elm","id":${id}}`), 40002, /"id" must be a 64-bit signed integer/);
  }
});

test('text is stored and returned unchanged', async () => {
  const token = await service.tokenFor('texts');
  const names = [
    ' Juniper\t',
    'Ａｌｄｅｒ',
    'e\u0301 is not é',
    '植物 растение نبات',
    '\u202eevil\u202c\u200b\u0007\u007f\u0085\ufeff',
    '👩‍🌾🌱'.repeat(40),
    'a/b?c#d%20"\\\'; DROP TABLE plants; --',
    '<script>alert(1)</script>',
    '\u{10ffff}\uffff\ue000',
    '__proto__',
    'null',
  ];
  for (const name of names) {
    assert.deepEqual(succeeded(await create({ name, tag: name }, token), 201), { name, tag: name });
  }
  const expected = names.map((name, index) => ({ id: index + 1, name, tag: name }));
  assert.deepEqual(await everything(token), expected);
});

test('lengths are counted in Unicode code points', async () => {
  const token = await service.tokenFor('lengths');
  for (const char of ['x', 'é', '植', '🌱']) {
    const longest = char.repeat(255);
    assert.deepEqual(succeeded(await create({ name: longest, tag: longest }, token), 201), {
      name: longest,
      tag: longest,
    });
    failed(await create({ name: `${longest}${char}` }, token), 40002, /"name" must be .*255/);
    failed(await create({ name: 'x', tag: `${longest}${char}` }, token), 40002, /"tag" must be .*255/);
  }
});

test("white space is Unicode's, in the answers and in the OpenAPI document", async () => {
  const { components } = JSON.parse((await service.request('GET', '/openapi.json')).text);
  const rule = new RegExp(components.schemas.PlantInput.properties.name.pattern, 'u');
  const white: string[] = [];
  for (let code = 1; code < 0x11_0000; code++) {
    if (code === 0xd800) code = 0xe000;
    const char = String.fromCodePoint(code);
    const isWhite = /\p{White_Space}/u.test(char);
    if (isWhite) white.push(char);
    assert.equal(rule.test(char), !isWhite, `U+${code.toString(16)}`);
  }
  assert.equal(white.length, 25);
  const token = await service.tokenFor('white');
  for (const name of [...white, white.join('')]) {
    failed(await create({ name }, token), 40002, /"name" must be .*not only white space/);
    assert.deepEqual(succeeded(await create({ name: `${name}a${name}`, tag: name }, token), 201), {
      name: `${name}a${name}`,
      tag: name,
    });
  }
});

test('a name that breaks its rule is refused, and the message states the rule', async () => {
  const rule = /"name" must be a string of 1 to 255 Unicode code points/;
  for (const name of ['', ' ', '\t\n\r', '\u00a0\u3000\u2003', '\0', 'a\0b']) {
    failed(await create({ name }), 40002, rule);
  }
  for (const name of [
    '7',
    'null',
    'true',
    '[]',
    '["Alder"]',
    '{}',
    '"\\ud800"',
    '"a\\udc00b"',
    '"\\udc00\\ud800"',
  ]) {
    failed(await create(`{"name":${name}}`), 40002, rule);
  }
  failed(await create({}), 40002, /"name" is missing/);
  failed(await create({ tag: 'Alnus', id: 1 }), 40002, /"name" is missing/);
});

test('a tag that breaks its rule is refused, and the message states the rule', async () => {
  for (const tag of [
    'null',
    '7',
    'true',
    '[]',
    '{}',
    '"\\u0000"',
    '"a\\u0000"',
    '"\\ud800"',
    '"\\udfff x"',
  ]) {
    failed(await create(`{"name":"Alder","tag":${tag}}`), 40002, /"tag" must be a string of at most 255/);
  }
});

test('an unknown member is refused and named', async () => {
  for (const member of ['colour', 'Name', 'owner', 'created_at', '__proto__', 'constructor', '', 'name ']) {
    const body = `{"name":"Alder",${JSON.stringify(member)}:1}`;
    const message = failed(await create(body), 40002);
    assert.ok(message.includes(`${JSON.stringify(member)} is unknown`), message);
  }
});

test('a body that is not an object is refused', async () => {
  for (const body of ['null', '7', '"Alder"', 'true', '[]', '[{"name":"Alder"}]']) {
    failed(await create(body), 40002, /must be a JSON object/);
  }
});

test('a body that is not JSON is refused, and the message says where', async () => {
  const bodies = [' ', '{', '{"name":"Alder"', "{'name':'Alder'}", '{"name":"Alder"}}', '{"name":"Al\nder"}'];
  for (const body of bodies) {
    failed(await create(body), 40001, /at character \d+/);
  }
  failed(await create('{"name":"Alder","name":"Birch"}'), 40001, /duplicate member name at character 16/);
  failed(await create(`${'['.repeat(33)}${']'.repeat(33)}`), 40001, /32/);
  failed(await create(Buffer.from('7b226e616d65223a22ff227d', 'hex')), 40001, /UTF-8 at byte 9/);
  failed(await create(Buffer.from('efbbbf7b7d', 'hex')), 40001, /byte order mark/);
});

test('an empty body is refused, with a length and without', async () => {
  const head = `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\n`;
  const json = `${head}Content-Type: application/json\r\n`;
  failed(await exchange(service.port, `${json}Content-Length: 0\r\n\r\n`), 40001);
  failed(await exchange(service.port, `${json}\r\n`), 40001);
  failed(await exchange(service.port, `${json}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`), 40001);
});
