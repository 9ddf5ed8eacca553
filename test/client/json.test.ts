import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parsed } from '../../packages/client/src/answers.ts';
import { integerOf, integerText, readJson } from '../../packages/client/src/json.ts';

test('an integer of 64 bits is a number if exact, otherwise a bigint, wherever it occurs', () => {
  const text =
    '{"a":[9007199254740991,9007199254740992,-9007199254740993],"b":"9007199254740993","c":0.1234567890123456}';
  assert.deepEqual(readJson(text), {
    a: [9007199254740991, 9007199254740992n, -9007199254740993n],
    b: '9007199254740993',
    c: 0.1234567890123456,
  });
});

test('every 64-bit integer survives a round trip through text', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (id) => {
      const value = integerOf(integerText(id));
      assert.equal(BigInt(value), id);
      assert.equal(typeof value === 'bigint', !Number.isSafeInteger(Number(id)));
      assert.equal(readJson(integerText(value)), value);
      assert.equal(integerText(String(id)), String(id));
    }),
  );
});

test("a runtime without access to a number's source refuses a large integer rather than round it", (t) => {
  const { parse } = JSON;
  t.mock.method(JSON, 'parse', (text: string, reviver?: (name: string, value: unknown) => unknown) =>
    parse(text, reviver && ((name, value) => reviver(name, value))),
  );
  assert.deepEqual(readJson('[7,"9007199254740993"]'), [7, '9007199254740993']);
  const refusal = { name: 'RangeError', message: /an id beyond 2\^53/ };
  assert.throws(() => readJson('[9007199254740993]'), refusal);
  // The answers of a service say the same, rather than that it is no plant store.
  assert.throws(() => parsed('http://plants', 200, '{"id":9007199254740993}'), refusal);
});
