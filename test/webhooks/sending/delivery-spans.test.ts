import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes, Span, SpanResult, Tracer } from '../../../src/tracing/port.ts';
import { traceAttempts } from '../../../src/webhooks/sending/delivery-spans.ts';
import { deliveryTo, senderWith } from '../../../testkit/receivers/sending.ts';

const failing = { ...senderWith(), send: () => Promise.reject(new Error('out of memory')) };

test('the span of an attempt that could not be made ends as failed', async () => {
  const { tracer, ended } = recorded();
  const sender = traceAttempts(failing, tracer);
  await assert.rejects(sender.send(deliveryTo('http://127.0.0.1:9/')), /out of memory/);
  assert.deepEqual(ended, [{ failure: { type: 'no_attempt' } }]);
});

test('the span names an IPv6 address without brackets', async () => {
  const { tracer, begun } = recorded();
  const sender = traceAttempts(failing, tracer);
  await assert.rejects(sender.send(deliveryTo('http://[::1]:9/')));
  const [attributes] = begun;
  assert.equal(attributes?.['server.address'], '::1');
  assert.equal(attributes['server.port'], 9);
});

function recorded() {
  const begun: Attributes[] = [];
  const ended: (SpanResult | undefined)[] = [];
  const span: Span = {
    trace: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    begin: () => span,
    mark() {},
    note() {},
    end: (result) => void ended.push(result),
  };
  const tracer: Tracer = {
    begin(_kind, _name, _trace, attributes) {
      if (attributes) begun.push(attributes);
      return span;
    },
  };
  return { tracer, begun, ended };
}
