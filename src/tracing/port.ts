/** What the program needs in order to be traced. There is a tracer only when traces are collected (`src/tracing/`). */
export type Tracer = {
  /**
   * Begins a span that continues a trace from elsewhere, or, without one, a trace.
   *
   * @param kind whether it answers a request, or makes one
   */
  begin(kind: 'server' | 'client', name: string, trace: Trace | undefined, attributes: Attributes): Span;
};

/** A piece of work, as a trace shows it. */
export type Span = {
  /** What continues it elsewhere: in the store, at a receiver. */
  readonly trace: Trace;
  /** Begins a part of it. */
  begin(name: string): Span;
  /** Notes that something happened. @param at milliseconds since the Unix epoch; without it, now */
  mark(what: string, at?: number): void;
  /** Adds what is known of it only now. */
  note(attributes: Attributes): void;
  /** Once, at most. One that never ends is never shown. */
  end(result?: SpanResult): void;
};

export type SpanResult = {
  attributes?: Attributes;
  /** Makes it a failed one: the class of the failure, such as a status, and a sentence for a person. */
  failure?: { type: string; reason?: string | undefined } | undefined;
  /** Milliseconds since the Unix epoch; without it, now. */
  at?: number;
};

/**
 * Few values each, or ids: never a token, a secret, a query, a body, or a path as it came. Those that are undefined are
 * left out.
 */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/**
 * A place in a trace as one text, as it is kept with an event: the value of `traceparent` and, behind a space, that of
 * `tracestate` when there is one (W3C Trace Context).
 */
export type Trace = string;

/** Which traces are kept, by the names that OpenTelemetry has for it. */
export const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplers)[number];

/** The header fields that a trace came with, or goes on with. */
export type TraceHeaders = { traceparent?: string; tracestate?: string };

/** The trace that the sender of these header fields claims to be in; whoever continues it looks whether it is one. */
export function traceOf({ traceparent, tracestate }: Record<string, unknown>): Trace | undefined {
  if (typeof traceparent !== 'string') return undefined;
  return typeof tracestate === 'string' ? `${traceparent} ${tracestate}` : traceparent;
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** What a `traceparent` says; undefined for one that is not valid. A later version may go on behind it (§3.2.4). */
export function readTraceparent(
  traceparent: unknown,
): { traceId: string; spanId: string; flags: number } | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/** What all spans of a trace have in common. */
export function traceIdOf(trace: Trace): string {
  return trace.slice(3, 35);
}

export function traceHeaders(trace: Trace | undefined): TraceHeaders {
  if (trace === undefined) return {};
  const space = trace.indexOf(' ');
  if (space < 0) return { traceparent: trace };
  return { traceparent: trace.slice(0, space), tracestate: trace.slice(space + 1) };
}
