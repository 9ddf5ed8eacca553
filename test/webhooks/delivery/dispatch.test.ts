import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDispatch, type Effect } from '../../../src/webhooks/delivery/dispatch.ts';
import type { DueDelivery, Outcome, Recorded } from '../../../src/webhooks/delivery/port.ts';
import type { InFlight } from '../../../src/webhooks/delivery/requests.ts';
import type { Rules } from '../../../src/webhooks/delivery/rules.ts';
import { attempt, contents, deliveries, delivery, rules, settings } from './due.ts';

type Call = Extract<Effect, { do: 'read' }>;

/** A dispatch whose reads are answered at once with everything in the lane. */
function start({ isSuspect = false, ...more }: Partial<Rules> & { isSuspect?: boolean } = {}) {
  const dispatch = createDispatch({ ...rules, ...more });
  const backlogs = new Map<string, DueDelivery[]>();
  const owners = new Map<string, number>();
  const reads: Call[] = [];
  const recorded: Outcome[] = [];
  const suspected: InFlight[] = [];
  const given: string[] = [];

  /** Requests that start now. */
  function advance(now = 0): InFlight[] {
    const begun: InFlight[] = [];
    for (let effects = dispatch.advance(now); effects.length > 0; effects = dispatch.advance(now)) {
      for (const effect of effects) {
        if (effect.do === 'send') begun.push(effect.request);
        else carryOut(effect, now);
      }
    }
    return begun;
  }

  function carryOut(effect: Exclude<Effect, { do: 'send' }>, now: number): void {
    if (effect.do === 'take') {
      const { webhook } = effect;
      dispatch.taken({ webhook, fence: 1, isInherited: false, isSuspect }, now);
    } else if (effect.do === 'read') {
      reads.push(effect);
      dispatch.hasRead(effect.request.webhook, effect.fence, answer(effect), now);
    } else if (effect.do === 'suspect') {
      suspected.push(effect.request);
    } else if (effect.do === 'handOver') {
      given.push(effect.webhook);
    } else {
      recorded.push(...effect.outcomes);
      dispatch.recorded(effect.outcomes.map(settle), now);
    }
  }

  function answer({ request: { webhook, after, limit, askedLimit } }: Call) {
    const all = backlogs.get(webhook) ?? [];
    const behind = all.filter(({ due, event }) => !after || due > after.due || event.id > after.event);
    return contents({
      settings: settings({ owner: owners.get(webhook) ?? 1 }),
      asked: all.filter(({ isAsked }) => isAsked).slice(0, askedLimit),
      due: behind.slice(0, limit).map((one) => ({ ...one, isAsked: false })),
    });
  }

  function settle({ webhook, event: id, generation }: Outcome): Recorded {
    const before = backlogs.get(webhook) ?? [];
    const left = before.filter((one) => one.event.id !== id || one.generation !== generation);
    backlogs.set(webhook, left);
    return left.length < before.length ? 'settled' : 'late';
  }

  function add(webhook: string, due: DueDelivery[], now = 0, owner = 1): void {
    owners.set(webhook, owner);
    backlogs.set(webhook, due);
    dispatch.work([{ webhook, isAsked: due.some(({ isAsked }) => isAsked) }], now);
  }

  const end = (request: InFlight | undefined, status: number | 'hangs', now = 0) => {
    assert.ok(request);
    dispatch.ended(request, attempt(status, now), now);
  };
  return { dispatch, add, advance, end, reads, recorded, suspected, given };
}

function countOf(requests: readonly InFlight[], webhook: string): number {
  return requests.filter((request) => request.webhook === webhook).length;
}

const names = (count: number) => Array.from({ length: count }, (_, n) => `wh_${n}`);

test('a lane not tried for long counts as neither silent nor failing', () => {
  const { dispatch, add, advance, end } = start();
  add('hangs', deliveries(2));
  add('fails', deliveries(rules.failuresToProbe));
  const begun = advance();
  for (const one of begun) end(one, one.webhook === 'hangs' ? 'hangs' : 500);
  assert.deepEqual(dispatch.counts(rules.troubledMs - 1), { underWay: 0, silent: 1, failing: 1 });
  assert.deepEqual(dispatch.counts(rules.troubledMs), { underWay: 0, silent: 0, failing: 0 });
});

test('deliveries are read ahead of running requests, in groups', () => {
  const { add, advance, end, reads } = start({ concurrency: 4, ahead: 3 });
  add('a', deliveries(1000));
  const under = advance();
  for (let n = 0; n < 100; n++) {
    end(under.shift(), 200);
    under.push(...advance());
  }
  assert.equal(under.length, 4);
  assert.ok(reads.length <= 12, `${reads.length} reads for 104 requests`);
});

test('never more requests run than the overall limit', () => {
  const { add, advance } = start({ inAll: 20 });
  for (const name of names(100)) add(name, deliveries(50));
  assert.equal(advance().length, 20);
});

test('one more request may run if a person requested it', () => {
  const { add, advance } = start({ inAll: 20 });
  for (const name of names(100)) add(name, deliveries(50));
  advance();
  for (const name of ['x', 'y']) add(name, [delivery(`evt_${name}`, { isAsked: true })]);
  assert.equal(advance().length, 1);
});

test('a thousand deliveries resent while they wait are each sent once, in order', () => {
  const { add, advance, end, reads } = start({ concurrency: 4, ahead: 3 });
  const waiting = deliveries(1000);
  add('a', waiting);
  const before = advance();
  const under = new Set(before.map(({ delivery: { event } }) => event.id));
  const again = waiting.map((one) =>
    under.has(one.event.id) ? one : { ...one, generation: 1, isAsked: true, due: 1 },
  );
  const readBefore = reads.length;
  // Each causes a hint, and all are in the store before the first hint arrives.
  for (let n = 0; n < 1000; n++) add('a', again);
  const sent: InFlight[] = [];
  for (let begun = [...before, ...advance(1)]; begun.length > 0; begun = advance(1)) {
    for (const one of begun) end(one, 200, 1);
    sent.push(...begun);
  }
  assert.deepEqual(
    sent.map(({ delivery: { event, generation } }) => `${event.id} ${generation}`),
    again.map(({ event, generation }) => `${event.id} ${generation}`),
  );
  assert.ok(reads.length - readBefore <= 1000 / rules.asked + 5, `${reads.length} reads`);
  const most = Math.max(...reads.map(({ request }) => request.askedLimit));
  assert.ok(most <= rules.asked + 10, `${most} are read at a time`);
});

test('no waiting delivery starts before a read shows whether it was resent', () => {
  const { dispatch, add, advance, end, reads } = start({ concurrency: 1, ahead: 3, readsAtOnce: 1 });
  add('a', deliveries(4));
  const [first] = advance();
  end(first, 200);
  dispatch.work([{ webhook: 'a', due: 0, isAsked: true }], 0);
  const effects = dispatch.advance(0);
  assert.deepEqual(
    effects.map((effect) => effect.do),
    ['read', 'record'],
  );
  assert.equal(reads.length, 1);
});

test('a busy lane is reread for searches only occasionally, and less often among many', () => {
  for (const [lanes, rereadMs] of [
    [10, 5_000],
    [100, 10_000],
  ] as const) {
    const { dispatch, add, advance, reads } = start({ concurrency: 4, rereadEachMs: 100, inAll: 8 });
    for (const name of names(lanes)) add(name, deliveries(2));
    advance();
    const before = reads.length;
    const found = names(lanes).map((webhook) => ({ webhook, due: 0 }));
    for (let now = 0; now < rereadMs; now += 1_000) {
      dispatch.found(found, now);
      advance(now);
    }
    assert.equal(reads.length, before);
    dispatch.found(found, rereadMs);
    advance(rereadMs);
    assert.equal(reads.length, before + lanes);
  }
});

test('a waiting lane checks whether its webhook was changed, even if no search finds it', () => {
  const { dispatch, add, advance, reads } = start({ concurrency: 1 });
  add('a', deliveries(2));
  const [one] = advance();
  assert.ok(one);
  dispatch.ended(one, { ...attempt(429, 0), retryAfter: '3600' }, 0);
  advance();
  const before = reads.length;
  assert.ok((dispatch.wakeAt() ?? 0) <= rules.rereadMs);
  advance(rules.rereadMs);
  assert.equal(reads.length, before + 1);
});

test('a delivery that failed is read again when its retry is due', () => {
  const { add, advance, end, reads, recorded } = start();
  add('a', deliveries(1));
  const [one] = advance();
  end(one, 500);
  advance();
  const next = recorded[0]?.next;
  assert.ok(next?.state === 'pending');
  const before = reads.length;
  advance(next.due - 1);
  assert.equal(reads.length, before);
  advance(next.due);
  assert.equal(reads.length, before + 1);
});

test('a hundred slow receivers leave slots free for one more', () => {
  const { add, advance } = start();
  for (const name of names(100)) add(name, deliveries(50));
  assert.ok(advance().length < 256);
  add('quick', deliveries(5));
  assert.ok(countOf(advance(), 'quick') >= 1);
});

test('a backlog for many webhooks never takes all slots', () => {
  const { add, advance } = start();
  for (const name of names(32)) add(name, deliveries(100));
  const begun = advance();
  assert.ok(begun.length < 256);
  const counts = names(32).map((name) => countOf(begun, name));
  assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, 'lanes take turns');
  add('other', deliveries(1));
  assert.equal(advance().length, 1);
});

test('the webhooks of one user leave slots to those of others', () => {
  const { add, advance, end } = start({ inAll: 20, ownerShare: 3 / 4 });
  for (const name of names(30)) add(name, deliveries(5));
  const first = advance();
  assert.equal(first.length, 15);
  add('other', deliveries(1), 0, 2);
  assert.deepEqual(
    advance().map(({ webhook }) => webhook),
    ['other'],
  );
  // As many of the first user follow as end.
  end(first[0], 200);
  end(first[1], 200);
  assert.equal(advance().length, 2);
});

test('the webhooks of several users leave slots to those of others', () => {
  const { add, advance } = start({ inAll: 20, ownerShare: 3 / 4 });
  for (const owner of [1, 2]) {
    for (const name of names(30)) add(`${owner} ${name}`, deliveries(5), 0, owner);
    advance();
  }
  for (const owner of [3, 4]) add(`${owner}`, deliveries(1), 0, owner);
  assert.equal(advance().length, 1);
});

test('tests and redeliveries of one user leave slots to those of others', () => {
  const { add, advance, end } = start({ inAll: 20, ownerShare: 3 / 4 });
  for (const name of names(30)) add(name, [delivery('evt_1', { isAsked: true })]);
  const first = advance();
  assert.equal(first.length, 16);
  add('other', [delivery('evt_1', { isAsked: true })], 0, 2);
  assert.deepEqual(
    advance().map(({ webhook }) => webhook),
    ['other'],
  );
  end(first[0], 200);
  assert.equal(advance().length, 1);
});

test('silent webhooks together take at most half of the slots', () => {
  const { dispatch, add, advance, end } = start();
  for (const name of names(300)) add(name, deliveries(5));
  for (let begun = advance(); begun.some(({ isSilent }) => !isSilent); begun = advance()) {
    for (const one of begun) if (!one.isSilent) end(one, 'hangs');
  }
  assert.equal(dispatch.counts(0).underWay, 128);
  add('other', deliveries(50));
  assert.ok(countOf(advance(), 'other') > 8);
});

test('a request that could not be made does not affect its webhook, and is made later', () => {
  const { dispatch, add, advance } = start();
  add('a', deliveries(1));
  const [one] = advance();
  assert.ok(one);
  dispatch.ended(one, undefined, 0);
  assert.deepEqual(advance(rules.notMadeMs - 1), []);
  assert.equal(advance(rules.notMadeMs).length, 1);
  assert.deepEqual(dispatch.counts(rules.notMadeMs), { underWay: 1, silent: 0, failing: 0 });
});

test('an idle lane is given up, and requested again when it has work', () => {
  const { dispatch, add, advance, end } = start();
  add('a', deliveries(1));
  const [one] = advance();
  assert.deepEqual(dispatch.release(1000, 0), []);
  end(one, 200);
  advance();
  assert.deepEqual(dispatch.release(1000, 0), ['a']);
  add('a', deliveries(1));
  assert.equal(advance().length, 1);
});

test('a lane that is to be handed over starts nothing, and is given back with its last outcome', () => {
  const { dispatch, add, advance, end, recorded, given } = start({ concurrency: 2 });
  add('a', deliveries(9));
  const [first, second] = advance();
  end(first, 'hangs');
  dispatch.leave(['a']);
  assert.deepEqual(advance(), []);
  dispatch.work([{ webhook: 'a' }], 0);
  dispatch.changed('a');
  assert.deepEqual(advance(), []);
  assert.deepEqual(given, []);
  end(second, 'hangs');
  assert.deepEqual(advance(), []);
  assert.equal(recorded.length, 2);
  assert.deepEqual(given, ['a']);
  add('a', deliveries(1));
  assert.equal(advance().length, 1);
});

test('a lane without running requests is handed over at once, and its noted delivery is not sent', () => {
  const { dispatch, add, advance, suspected, given } = start({ isSuspect: true });
  dispatch.leave(['a']);
  add('a', deliveries(1));
  advance();
  dispatch.leave(['a']);
  advance();
  const [noted] = suspected;
  assert.ok(noted);
  dispatch.suspected(noted, true, 0);
  assert.deepEqual(advance(), []);
  assert.deepEqual(given, ['a']);
});

test('a stop hands idle lanes over at once, the others with their last outcome, and reads nothing more', () => {
  const { dispatch, add, advance, end, reads, recorded, given } = start({ concurrency: 1 });
  add('busy', deliveries(9));
  add('idle', deliveries(1));
  const [running, last] = advance();
  end(last, 200);
  advance();
  const before = reads.length;
  dispatch.drain();
  assert.deepEqual(advance(), []);
  assert.deepEqual(given, ['idle']);
  for (const webhook of ['busy', 'idle', 'new']) add(webhook, deliveries(3));
  dispatch.changed('busy');
  dispatch.found([{ webhook: 'busy' }], 0);
  assert.deepEqual(advance(), []);
  end(running, 500);
  assert.deepEqual(advance(rules.rereadMs), []);
  assert.deepEqual(given, ['idle', 'busy']);
  assert.equal(recorded.length, 2);
  assert.equal(reads.length, before);
  assert.equal(dispatch.wakeAt(), undefined);
  assert.ok(dispatch.isIdle());
});

test('a lane that is taken during a stop is handed over at once', () => {
  const { dispatch, advance, reads, given } = start();
  dispatch.drain();
  dispatch.taken({ webhook: 'a', fence: 1, isInherited: false, isSuspect: true }, 0);
  assert.deepEqual(advance(), []);
  assert.deepEqual(given, ['a']);
  assert.deepEqual(reads, []);
});

test('a delivery that is being noted when the stop begins is not sent, and its lane is handed over', () => {
  const { dispatch, add, advance, suspected, given } = start({ isSuspect: true });
  add('a', deliveries(2));
  advance();
  dispatch.drain();
  advance();
  assert.deepEqual([suspected.length, given], [2, []]);
  for (const request of suspected) dispatch.suspected(request, true, 0);
  assert.deepEqual(advance(), []);
  assert.deepEqual(given, ['a']);
  assert.ok(dispatch.isIdle());
});

test("a lost lane's outcomes are not recorded", () => {
  const { dispatch, add, advance, end, recorded } = start();
  add('a', deliveries(1));
  const [one] = advance();
  dispatch.lost(['a']);
  end(one, 200);
  advance();
  assert.deepEqual(recorded, []);
  assert.ok(dispatch.isIdle());
});

test('after an unclean end deliveries are noted before they are sent, all that may be in flight at once', () => {
  const concurrency = 4;
  const { dispatch, add, advance, end, suspected } = start({ isSuspect: true, concurrency });
  add('a', deliveries(100));
  const [noted, sent]: [string[], string[]] = [[], []];
  /** Ends those in flight and lets the next ones start. */
  function step(inFlight: readonly InFlight[]): InFlight[] {
    for (const one of inFlight) end(one, 200);
    const begun = advance();
    if (suspected.length === 0) return begun;
    assert.deepEqual(begun, []);
    noted.push(...suspected.map(({ delivery }) => delivery.event.id));
    for (const one of suspected.splice(0)) dispatch.suspected(one, true, 0);
    return advance();
  }
  for (let inFlight = step([]); inFlight.length > 0; inFlight = step(inFlight)) {
    assert.equal(inFlight.length, concurrency);
    sent.push(...inFlight.map(({ delivery }) => delivery.event.id));
  }
  assert.equal(sent.length, 100);
  assert.deepEqual(noted, sent.slice(0, noted.length));
  // Until so many are recorded as may have been in flight, with the manual one.
  assert.ok(noted.length > concurrency && noted.length < 100, `${noted.length} noted`);
});

test('while deliveries are noted, their lane is found to be in trouble: they are not sent beside its probe', () => {
  const { dispatch, add, advance, end, suspected } = start({ isSuspect: true, concurrency: 2 });
  add('a', deliveries(10));
  advance();
  const [first, second] = suspected;
  assert.ok(first && second);
  dispatch.suspected(first, true, 0);
  const [hanging] = advance();
  end(hanging, 'hangs');
  dispatch.suspected(second, true, 0);
  assert.deepEqual(advance(), []);
  assert.equal(dispatch.counts(0).underWay, 1);
});

test('a delivery is noted before it is sent when it may have ended a process; the third time is a failed attempt', () => {
  const { dispatch, add, advance, suspected, recorded } = start({ isSuspect: true });
  add('a', [delivery('evt_0', { suspicions: 2 }), delivery('evt_1', { suspicions: 3 })]);
  assert.deepEqual(advance(), []);
  const [noted] = suspected;
  assert.ok(noted);
  dispatch.suspected(noted, true, 0);
  assert.deepEqual(advance(), [noted]);
  dispatch.ended(noted, attempt(200, 0), 0);
  advance();
  assert.deepEqual(
    recorded.map(({ attempt, next }) => [attempt.error, next.state]),
    [
      [undefined, 'delivered'],
      ['The service ended 3 times while it sent this.', 'pending'],
    ],
  );
});

test('a delivery that was noted is sent like any other after a clean end', () => {
  const { add, advance, suspected } = start();
  add('a', [delivery('evt_0', { suspicions: 2 }), delivery('evt_1', { suspicions: 3 })]);
  assert.equal(advance().length, 2);
  assert.deepEqual(suspected, []);
});

test('a delivery that kills each process is found even after many unrecorded ones', () => {
  const [concurrency, unrecorded, poison] = [4, 40, 'evt_0100'];
  const waiting = new Map(deliveries(200).map((one) => [one.event.id, one]));

  /** Runs until all are sent or the process ends. The store records outcomes only when it must. */
  function live(): 'ended' | 'done' {
    const dispatch = createDispatch({ ...rules, concurrency, unrecorded });
    dispatch.taken({ webhook: 'a', fence: 1, isInherited: false, isSuspect: true }, 0);
    let batch: readonly Outcome[] = [];

    function commit(): void {
      for (const { event } of batch) waiting.delete(event);
      if (batch.length > 0) dispatch.recorded(Array(batch.length).fill('settled'), 0);
      batch = [];
    }

    for (let effects = dispatch.advance(0); ; effects = dispatch.advance(0)) {
      if (effects.length === 0 && batch.length === 0) return 'done';
      if (effects.length === 0) commit();
      for (const effect of effects) {
        if (effect.do === 'record') batch = effect.outcomes;
        else if (effect.do === 'read') {
          const { after, limit } = effect.request;
          const behind = [...waiting.values()].filter(({ event }) => !after || event.id > after.event);
          dispatch.hasRead('a', 1, contents({ due: behind.slice(0, limit) }), 0);
        } else if (effect.do === 'suspect') {
          commit();
          const { delivery } = effect.request;
          waiting.set(delivery.event.id, { ...delivery, suspicions: delivery.suspicions + 1 });
          dispatch.suspected(effect.request, true, 0);
        } else if (effect.do === 'send') {
          if (effect.request.delivery.event.id === poison) return 'ended';
          dispatch.ended(effect.request, attempt(200, 0), 0);
        }
      }
    }
  }

  let ends = 0;
  while (live() === 'ended') ends++;
  assert.equal(waiting.size, 0);
  const most = rules.suspicions + Math.ceil(unrecorded / (concurrency + 1));
  assert.ok(ends > rules.suspicions && ends <= most, `${ends} ends`);
});

test('a noted delivery is not sent to a webhook changed meanwhile, and noted again without counting twice', () => {
  const { dispatch, add, advance, suspected } = start({ isSuspect: true });
  add('a', deliveries(1));
  advance();
  dispatch.changed('a');
  add('a', [delivery('evt_0000', { suspicions: 1 })]);
  assert.ok(suspected[0]);
  dispatch.suspected(suspected[0], true, 0);
  assert.deepEqual(advance(), []);
  assert.deepEqual(
    suspected.map(({ delivery }) => delivery.suspicions),
    [0, 0],
  );
});

for (const status of [429, 410]) {
  test(`a noted delivery is not sent to a webhook that answered another one with ${status} meanwhile`, () => {
    const { dispatch, add, advance, suspected } = start({ isSuspect: true });
    add('a', deliveries(1));
    advance();
    add('a', [delivery('evt_1', { isAsked: true, due: 1 })], 1);
    const [manual] = advance(1);
    assert.ok(manual && suspected[0]);
    dispatch.ended(manual, { ...attempt(status, 1), retryAfter: '7' }, 1);
    dispatch.suspected(suspected[0], true, 1);
    assert.deepEqual(advance(1), []);
  });
}

test('of concurrent requests only one pauses the webhook, and a success does not end the pause', () => {
  const { dispatch, add, advance, recorded } = start();
  add('a', deliveries(100));
  const [first, second, third] = advance();
  assert.ok(first && second && third);
  const busy = { ...attempt(429, 0), retryAfter: '7' };
  dispatch.ended(first, busy, 0);
  dispatch.ended(second, busy, 0);
  dispatch.ended(third, attempt(200, 0), 0);
  assert.deepEqual(advance(), []);
  assert.deepEqual(
    recorded.map(({ begins }) => begins),
    ['pause', undefined, undefined],
  );
  assert.deepEqual(
    recorded.map(({ laneState }) => laneState.pausedUntil),
    [7000, 7000, 7000],
  );
  assert.deepEqual(advance(6999), []);
  assert.ok(advance(7000).length > 0);
});

test('after the clock was set back, a pause that follows an earlier one is a new one', () => {
  const { dispatch, add, advance, recorded } = start();
  for (const now of [1e7, 1e7 + 7000]) {
    add('a', [delivery(`evt_${now}`)], now);
    const [request] = advance(now);
    assert.ok(request);
    dispatch.ended(request, { ...attempt(429, now - 3_600_000), retryAfter: '7' }, now);
    advance(now);
  }
  assert.deepEqual(
    recorded.map(({ begins }) => begins),
    ['pause', 'pause'],
  );
});

test('of concurrent requests only one disables the webhook, even when its outcome is recorded first', () => {
  const { add, advance, end, recorded } = start();
  add('a', deliveries(2));
  const [first, second] = advance();
  end(first, 410);
  assert.deepEqual(advance(), []);
  end(second, 410);
  assert.deepEqual(advance(), []);
  assert.deepEqual(
    recorded.map(({ begins }) => begins),
    ['disabled', undefined],
  );
});

test('the store decides whether an answer of 410 disabled the webhook, if its delivery changed meanwhile', () => {
  const { add, advance, end, recorded } = start();
  add('a', deliveries(1));
  const [first] = advance();
  add('a', [delivery('evt_1')]);
  end(first, 410);
  assert.deepEqual(
    advance().map(({ delivery }) => delivery.event.id),
    ['evt_1'],
  );
  assert.equal(recorded[0]?.begins, 'disabled');
});

test('outcomes are recorded again until the store takes them', () => {
  const dispatch = createDispatch(rules);
  dispatch.taken({ webhook: 'a', fence: 1, isInherited: false, isSuspect: false }, 0);
  dispatch.advance(0);
  dispatch.hasRead('a', 1, contents({ settings: settings(), due: deliveries(1) }), 0);
  const [send] = dispatch.advance(0).filter((effect) => effect.do === 'send');
  assert.ok(send);
  dispatch.ended(send.request, attempt(200, 0), 0);
  const isRecording = (now: number) => dispatch.advance(now).some((effect) => effect.do === 'record');
  assert.ok(isRecording(0));
  dispatch.recorded(undefined, 0);
  assert.ok(!isRecording(99));
  assert.equal(dispatch.wakeAt(), 100);
  assert.ok(isRecording(100));
  assert.ok(!dispatch.isIdle());
  dispatch.recorded(['settled'], 100);
  assert.ok(dispatch.isIdle());
});
