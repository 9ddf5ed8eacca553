import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { prepare, type Sendable } from '../../../src/webhooks/sending/request.ts';
import { newKeyPair, newSecret, sign } from '../../../src/webhooks/sending/signature.ts';

const keys = { secrets: [newSecret(randomBytes)], privateKey: newKeyPair(randomBytes).privateKey };
const NOW = Date.UTC(2026, 10, 3, 12, 0, 0, 999);

function claimOf(
  plant: Sendable['event']['plant'],
  type: Sendable['event']['type'] = 'plant.created',
): Sendable {
  return {
    webhook: { id: 'wh_1', url: 'https://example.com/hook', ...keys },
    event: { id: 'evt_1', type, at: Date.UTC(2026, 10, 3, 11, 59, 58, 7), plant },
  };
}

test('a delivery has the headers of the contract, with the time of the attempt and that of the event', () => {
  const claim = claimOf({ id: 7n, name: 'Alder', tag: 'Alnus' });
  const { headers, body } = prepare(claim, NOW, '1.2.3', 'https://plants.example');
  const timestamp = Math.floor(NOW / 1000);
  assert.equal(body, '{"id":7,"name":"Alder","tag":"Alnus"}');
  assert.deepEqual(headers, {
    'content-type': 'application/json',
    'user-agent': 'plant-store/1.2.3',
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': sign({ id: 'evt_1', timestamp, body, keys }),
    'ce-specversion': '1.0',
    'ce-id': 'evt_1',
    'ce-type': 'plant.created',
    'ce-source': 'https://plants.example',
    'ce-time': '2026-11-03T11:59:58.007Z',
  });
});

test('an id is exact to the last digit in the body', () => {
  for (const id of [9007199254740993n, -(2n ** 63n), 2n ** 63n - 1n, 0n]) {
    const { body } = prepare(claimOf({ id, name: 'x', tag: undefined }), NOW, '1', 's');
    assert.equal(body, `{"id":${id},"name":"x"}`);
  }
});

test('a plant without a tag has no tag in the body, and an empty tag stays', () => {
  assert.doesNotMatch(prepare(claimOf({ id: 1n, name: 'x', tag: undefined }), NOW, '1', 's').body, /tag/);
  assert.match(prepare(claimOf({ id: 1n, name: 'x', tag: '' }), NOW, '1', 's').body, /,"tag":""\}$/);
});

test('names and tags that need escapes are valid JSON', () => {
  const plant = { id: 1n, name: '"\\\n\u2028 🌱', tag: '</script>\u007f' };
  const body = JSON.parse(prepare(claimOf(plant), NOW, '1', 's').body);
  assert.deepEqual(body, { id: 1, name: plant.name, tag: plant.tag });
});

test('a test event says so, and is signed like any other', () => {
  const claim = claimOf({ id: 1n, name: 'x', tag: undefined }, 'plant.test');
  const { headers, body } = prepare(claim, NOW, '1', 's');
  assert.equal(headers['ce-type'], 'plant.test');
  const timestamp = Math.floor(NOW / 1000);
  assert.equal(headers['webhook-signature'], sign({ id: 'evt_1', timestamp, body, keys }));
});
