import { createTraceState, type SpanContext, TraceFlags } from '@opentelemetry/api';
import { tracing as limits } from '../limits.ts';
import { readTraceparent, type Trace, traceHeaders } from './port.ts';

/** Parses a trace context; undefined for an invalid one, whose sender then counts as having none. */
export function placeOf(trace: Trace): SpanContext | undefined {
  const { traceparent, tracestate } = traceHeaders(trace);
  const read = readTraceparent(traceparent);
  if (!read) return undefined;
  const { traceId, spanId, flags } = read;
  const place: SpanContext = { traceId, spanId, traceFlags: flags & TraceFlags.SAMPLED, isRemote: true };
  // A longer one may be dropped (§3.3.1.5). The parser keeps only entries that are valid in a header.
  if (tracestate === undefined || tracestate.length > limits.stateLength) return place;
  return { ...place, traceState: createTraceState(tracestate) };
}

/** The text of a trace context. */
export function traceAt({ traceId, spanId, traceFlags, traceState }: SpanContext): Trace {
  const flags = traceFlags & TraceFlags.SAMPLED ? '01' : '00';
  const state = traceState?.serialize();
  return `00-${traceId}-${spanId}-${flags}${state ? ` ${state}` : ''}`;
}
