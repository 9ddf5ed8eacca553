import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Span, SpanResult } from '../../../src/tracing/port.ts';
import { traceAttempts } from '../../../src/webhooks/sending/delivery-spans.ts';
import { deliveryTo, senderWith } from '../../../testkit/receivers/sending.ts';

test('the span of an attempt that could not be made ends as failed', async () => {
  const ended: (SpanResult | undefined)[] = [];
  const span: Span = {
    trace: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    begin: () => span,
    mark() {},
    note() {},
    end: (result) => void ended.push(result),
  };
  const failing = { ...senderWith(), send: () => Promise.reject(new Error('out of memory')) };
  const sender = traceAttempts(failing, { begin: () => span });
  await assert.rejects(sender.send(deliveryTo('http://127.0.0.1:9/')), /out of memory/);
  assert.deepEqual(ended, [{ failure: { type: 'no_attempt' } }]);
});
