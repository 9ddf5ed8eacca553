import type { Attributes, SpanResult, Tracer } from '../../tracing/port.ts';
import { type Attempt, failureOf } from './attempt.ts';
import type { Sendable } from './request.ts';
import type { Sender } from './sender.ts';
import { hostOf, portOf } from './target.ts';

/**
 * A sender whose attempts continue the trace in which their event was created, however long ago and wherever that
 * was, and pass it on to the receiver. An event without a trace starts one.
 */
export function traceAttempts(sender: Sender, tracer: Tracer): Sender {
  return {
    ...sender,
    async send(sendable) {
      const span = tracer.begin('client', 'POST webhook', sendable.trace, attributesOf(sendable));
      const attempt = await sender.send({ ...sendable, onward: span.trace }).catch((error: unknown) => {
        span.end({ failure: { type: 'no_attempt' } });
        throw error;
      });
      span.end(resultOf(attempt));
      return attempt;
    },
  };
}

/** Contains only the host of the URL: the path of a webhook is often a secret. */
function attributesOf({ webhook, event, step }: Sendable): Attributes {
  const url = URL.parse(webhook.url);
  return {
    'http.request.method': 'POST',
    'http.request.resend_count': step === undefined || step === 0 ? undefined : step,
    'server.address': url ? hostOf(url) : undefined,
    'server.port': url ? portOf(url) : undefined,
    'plant_store.webhook.id': webhook.id,
    'plant_store.event.id': event.id,
    'plant_store.event.type': event.type,
  };
}

function resultOf(attempt: Attempt): SpanResult {
  const { address, status, error } = attempt;
  const reason = failureOf(attempt);
  return {
    attributes: { 'http.response.status_code': status, 'network.peer.address': address },
    failure:
      reason === undefined ? undefined : { type: error === undefined ? String(status) : 'no_answer', reason },
  };
}
