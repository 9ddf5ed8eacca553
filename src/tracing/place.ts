import { createTraceState, type SpanContext, TraceFlags } from '@opentelemetry/api';
import { tracing as limits } from '../limits.ts';
import { readTraceparent, type Trace, traceHeaders } from './port.ts';

/** Reads a place in a trace; undefined for a text that is none, whose sender is then in no trace. */
export function placeOf(trace: Trace): SpanContext | undefined {
  const { traceparent, tracestate } = traceHeaders(trace);
  const read = readTraceparent(traceparent);
  if (!read) return undefined;
  const { traceId, spanId, flags } = read;
  const place: SpanContext = { traceId, spanId, traceFlags: flags & TraceFlags.SAMPLED, isRemote: true };
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
