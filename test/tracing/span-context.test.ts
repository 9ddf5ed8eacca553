import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spanContextOf, traceAt } from '../../src/tracing/open.ts';
import { traceHeaders, traceOf } from '../../src/tracing/port.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const PARENT = `00-${TRACE}-${SPAN}-01`;

test('a trace context is read and written in the form of W3C Trace Context', () => {
  const context = spanContextOf(`${PARENT} congo=t61rcWkgMzE,rojo=00f067aa0ba902b7`);
  assert.deepEqual(
    [context?.traceId, context?.spanId, context?.traceFlags, context?.isRemote],
    [TRACE, SPAN, 1, true],
  );
  assert.ok(context);
  assert.equal(traceAt(context), `${PARENT} congo=t61rcWkgMzE,rojo=00f067aa0ba902b7`);
});

test('a later version of the header is read as far as this one goes', () => {
  assert.equal(spanContextOf(`cc-${TRACE}-${SPAN}-01-what-the-future-brings`)?.traceId, TRACE);
  assert.equal(spanContextOf(`cc-${TRACE}-${SPAN}-01`)?.spanId, SPAN);
});

test('of the flags only sampled is continued', () => {
  const flagsOf = (flags: string) => spanContextOf(`00-${TRACE}-${SPAN}-${flags}`)?.traceFlags;
  assert.deepEqual([flagsOf('00'), flagsOf('02'), flagsOf('03'), flagsOf('ff')], [0, 0, 1, 1]);
});

test('an invalid trace context is ignored', () => {
  const wrong = [
    '',
    'x',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `${PARENT}-more`,
    `${PARENT},${PARENT}`,
  ];
  for (const text of wrong) assert.equal(spanContextOf(text), undefined, text);
});

test('a state is continued entry by entry; invalid or too long entries are omitted', () => {
  const stateOf = (state: string) => spanContextOf(`${PARENT} ${state}`)?.traceState?.serialize();
  assert.equal(stateOf('a=1, b=2'), 'a=1,b=2');
  assert.equal(stateOf('a=1,B=2\r\nx: y,c=ä'), 'a=1');
  assert.ok(!stateOf(`a=${'x'.repeat(600)}`));
});

test("a trace's header fields are passed on unchanged", () => {
  assert.deepEqual(traceHeaders(traceOf({ traceparent: PARENT })), { traceparent: PARENT });
  const both = { traceparent: PARENT, tracestate: 'a=1,b=2' };
  assert.deepEqual(traceHeaders(traceOf(both)), both);
  assert.equal(traceOf({ tracestate: 'a=1' }), undefined);
  assert.deepEqual(traceHeaders(undefined), {});
});
