import { createTraceState, isSpanContextValid, type SpanContext, TraceFlags } from '@opentelemetry/api';
import { tracing as limits } from '../limits.ts';
import { type Trace, traceHeaders } from '../tracer.ts';

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:$|-)/;
/** Of version 00. A later one may go on behind it (W3C Trace Context §3.2.4). */
const LENGTH = 55;

/** Reads a place in a trace; undefined for a text that is none, whose sender is then in no trace. */
export function placeOf(trace: Trace): SpanContext | undefined {
  const { traceparent = '', tracestate } = traceHeaders(trace);
  const [, version, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && traceparent.length !== LENGTH)) {
    return undefined;
  }
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const place: SpanContext = { traceId, spanId, traceFlags, isRemote: true };
  if (!isSpanContextValid(place)) return undefined;
  // A longer one may be left out (§3.3.1.5). What is read of it are only entries of a form that a header may have.
  if (tracestate === undefined || tracestate.length > limits.stateLength) return place;
  return { ...place, traceState: createTraceState(tracestate) };
}

/** The text of a place in a trace. */
export function traceAt({ traceId, spanId, traceFlags, traceState }: SpanContext): Trace {
  const flags = traceFlags & TraceFlags.SAMPLED ? '01' : '00';
  const state = traceState?.serialize();
  return `00-${traceId}-${spanId}-${flags}${state ? ` ${state}` : ''}`;
}
