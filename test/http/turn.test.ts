import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '../../src/errors.ts';
import type { Overload } from '../../src/http/admission/overload.ts';
import { gatherTurns } from '../../src/http/admission/turn.ts';
import { http as limits } from '../../src/limits.ts';
import { given } from '../../testkit/stores/given.ts';
import { openTemporaryStore } from '../../testkit/stores/temporary-store.ts';

/** A watch that the test controls. */
function steered(): Overload & { places: number | undefined; refusals: number } {
  const watch = {
    places: undefined as number | undefined,
    refusals: 0,
    sliceEnded: () => {},
    room: () => watch.places,
    refused: () => void watch.refusals++,
  };
  return watch;
}

const here = { destroyed: false, readableEnded: false };
const gone = { destroyed: true, readableEnded: true };
const halfClosed = { destroyed: false, readableEnded: true };

/** Turns with a clock that only the test moves. */
function turnsOf(overload = steered(), refresh = () => {}) {
  const time = { now: 0 };
  const turns = gatherTurns(() => time.now, refresh, overload);
  const log: string[] = [];
  const hold = (name: string, socket = here, ms = 0) =>
    turns.hold({
      at: 0,
      socket,
      resume(refusal) {
        time.now += ms;
        log.push(refusal instanceof AppError ? `${name} ${refusal.code}` : name);
      },
    });
  return { turns, time, log, hold, overload };
}

test('the requests of a turn run together, once all of them have arrived', async () => {
  const { log, hold } = turnsOf();
  hold('one');
  hold('two');
  assert.deepEqual(log, []);
  await setImmediate();
  assert.deepEqual(log, ['one', 'two']);
});

test('a request sees what was committed before it arrived, also when a long list was read meanwhile', async (t) => {
  const { store, path, drop } = await openTemporaryStore();
  const other = new DatabaseSync(path, { timeout: 5000 });
  t.after(() => {
    other.close();
    return drop();
  });
  const { id: viewer } = await given(store).user();
  const page = { viewer, from: undefined, through: undefined, limit: 5, fields: ['id'] } as const;
  const count = async () => (await store.plants.page(page)).count;
  const { turns, hold } = turnsOf(steered(), store.refresh);

  hold('one that is put off while a client connects');
  turns.connected();
  const seen = await new Promise((resolve) => {
    void turns.later(async () => {
      assert.equal(await count(), 0);
      other
        .prepare('INSERT INTO plants (owner, id, name, created_at) VALUES (?, 1, ?, 0)')
        .run(viewer, 'Alder');
      turns.hold({ at: 0, socket: here, resume: () => resolve(count()) });
    });
  });
  assert.equal(seen, 1);
});

test('slow requests run a few in each turn, in order', async () => {
  const { log, hold } = turnsOf();
  const names = Array.from({ length: 200 }, (_, i) => String(i));
  for (const name of names) hold(name, here, 10);
  await setImmediate();
  const inFirst = log.length;
  assert.ok(inFirst > 0 && inFirst < names.length, `${inFirst} in the first turn`);
  while (log.length < names.length) {
    const before = log.length;
    await setImmediate();
    assert.ok(log.length - before <= inFirst, `${log.length - before} in one turn`);
  }
  assert.deepEqual(log, names);
});

test('work in promises counts as part of the slice', async () => {
  const { turns, time } = turnsOf();
  const done: number[] = [];
  const work = async (name: number) => {
    await Promise.resolve();
    time.now += 10;
    done.push(name);
  };
  for (let name = 0; name < 200; name++) void turns.later(() => work(name));
  await setImmediate();
  let before = done.length;
  assert.ok(before < 200);
  let largest = 0;
  while (done.length < 200) {
    await setImmediate();
    largest = Math.max(largest, done.length - before);
    before = done.length;
  }
  assert.ok(largest < 50, `${largest} in one turn`);
});

test('health checks overtake all waiting requests', async () => {
  const { turns, log, hold } = turnsOf();
  hold('one');
  turns.holdFirst(() => log.push('health'));
  await setImmediate();
  assert.deepEqual(log, ['health', 'one']);
});

test('a flood of health checks is spread over turns, and requests run in each of them', async () => {
  const { turns, log, hold } = turnsOf();
  const count = (name: string) => log.filter((each) => each === name).length;
  for (let n = 0; n < 3 * limits.healthChecks; n++) turns.holdFirst(() => log.push('health'));
  for (let turn = 1; turn <= 3; turn++) {
    hold('one');
    await setImmediate();
    assert.deepEqual([count('health'), count('one')], [turn * limits.healthChecks, turn]);
  }
});

test('a request whose connection is gone is not continued', async () => {
  const { log, hold } = turnsOf();
  hold('gone', gone);
  hold('here');
  hold('half-closed', halfClosed);
  await setImmediate();
  assert.deepEqual(log, ['here', 'half-closed']);
});

test('in an overload, a half-closed client counts as gone, and is told so', async () => {
  const { log, hold, overload } = turnsOf();
  overload.places = 10;
  hold('half-closed', halfClosed);
  hold('here');
  await setImmediate();
  assert.deepEqual(log, ['half-closed 50300', 'here']);
});

test('a request is refused while the queue is full, and admitted once others continue', async () => {
  const { turns, hold, overload } = turnsOf();
  overload.places = 2;
  hold('one');
  assert.equal(turns.admits(), true);
  hold('two');
  assert.equal(turns.admits(), false);
  assert.equal(overload.refusals, 1);
  await setImmediate();
  assert.equal(turns.admits(), true);
});

test('when an overload begins, the newest waiting requests are refused, but no started work', async () => {
  const { turns, log, hold, overload } = turnsOf();
  const ROOM = 5;
  for (let i = 0; i < 200; i++) hold(String(i), here, 10);
  const begun = turns.later(async () => 'done');
  overload.sliceEnded = () => {
    overload.places = ROOM;
  };
  await setImmediate();
  const refused = log.filter((name) => name.endsWith(' 50300'));
  const served = log.length - refused.length;
  assert.deepEqual(
    refused,
    Array.from({ length: 200 - served - ROOM }, (_, i) => `${served + ROOM + i} 50300`),
  );
  assert.equal(await begun, 'done');
  await setImmediate();
  assert.equal(log.length, 200);
});

test('refusals are sent when all requests of the turn have arrived, before the admitted ones run', async () => {
  const { turns, log, hold } = turnsOf();
  hold('admitted');
  turns.holdRefusal(() => log.push('refused'));
  assert.deepEqual(log, []);
  await setImmediate();
  assert.deepEqual(log, ['refused', 'admitted']);
});

test('requests do not wait for the rest of earlier ones, nor the other way round', async () => {
  const { turns, log, hold, time } = turnsOf();
  const work = async () => {
    time.now += 10;
  };
  let left = 500;
  for (let part = 0; part < 500; part++) void turns.later(work).then(() => left--);
  await setImmediate();
  for (let turn = 0; turn < 10; turn++) {
    const before = left;
    hold('one');
    await setImmediate();
    assert.equal(log.length, turn + 1);
    assert.ok(left < before);
  }
});

test('concurrently connecting clients are admitted before the next slice', async () => {
  const { turns, log, hold, time } = turnsOf();
  hold('one');
  turns.connected();
  await setImmediate();
  turns.connected();
  await setImmediate();
  assert.deepEqual(log, []);
  await setImmediate();
  assert.deepEqual(log, ['one']);
  // A client that keeps connecting does not hold up the others.
  hold('two');
  for (let turn = 0; turn < 10; turn++) {
    turns.connected();
    time.now += 1;
    await setImmediate();
  }
  assert.deepEqual(log, ['one', 'two']);
});
