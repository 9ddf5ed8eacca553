import type { Attributes, SpanResult, Tracer } from '../../tracing/port.ts';
import { type Attempt, failureOf } from './attempt.ts';
import type { Sendable } from './request.ts';

type AttemptSender = { send(request: Sendable): Promise<Attempt | undefined> };

/**
 * A sender whose attempts are in the trace in which their event was made, however long ago and wherever that was; the
 * receiver is told to go on from there. One of an event without a trace begins one.
 */
export function traceAttempts<S extends AttemptSender>(
  sender: S,
  tracer: Tracer,
): Omit<S, 'send'> & AttemptSender {
  return {
    ...sender,
    async send(claim) {
      const span = tracer.begin('client', 'POST webhook', claim.trace, attributesOf(claim));
      const attempt = await sender.send({ ...claim, onward: span.trace });
      // One that was not made is not shown.
      if (attempt === undefined) return undefined;
      // Until then it waited for others to the same webhook.
      span.mark('the request begins', attempt.at);
      span.end(resultOf(attempt));
      return attempt;
    },
  };
}

/** Of the URL only the host: the path of a webhook often is a secret. */
function attributesOf({ webhook, event, step }: Sendable): Attributes {
  const url = URL.parse(webhook.url);
  return {
    'http.request.method': 'POST',
    'http.request.resend_count': step === undefined || step === 0 ? undefined : step,
    'server.address': url?.hostname,
    'server.port': url ? Number(url.port || (url.protocol === 'http:' ? 80 : 443)) : undefined,
    'plant_store.webhook.id': webhook.id,
    'plant_store.event.id': event.id,
    'plant_store.event.type': event.type,
  };
}

function resultOf(attempt: Attempt): SpanResult {
  const { at, durationMs, address, status, error } = attempt;
  const reason = failureOf(attempt);
  return {
    at: at + durationMs,
    attributes: { 'http.response.status_code': status, 'network.peer.address': address },
    failure:
      reason === undefined ? undefined : { type: error === undefined ? String(status) : 'no_answer', reason },
  };
}
