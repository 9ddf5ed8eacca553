/** What the program needs for traces. There is a tracer only when traces are collected (`src/tracing/`). */
export type Tracer = {
  /**
   * Begins a span that continues a trace from elsewhere or starts a new one.
   * @param kind whether it answers a request or makes one
   */
  begin(kind: 'server' | 'client', name: string, trace: Trace | undefined, attributes: Attributes): Span;
};

/** A piece of work, as shown in a trace. */
export type Span = {
  /** The context to continue elsewhere: in the store, at a receiver. */
  readonly trace: Trace;
  /** Begins a child span. */
  begin(name: string): Span;
  /** Records that something happens. */
  mark(what: string): void;
  /** Adds attributes that become known only now. */
  note(attributes: Attributes): void;
  /** Call at most once. A span that never ends is never shown. */
  end(result?: SpanResult): void;
};

export type SpanResult = {
  attributes?: Attributes;
  /** Marks it as failed: the class of the failure, such as a status, and a sentence for a person. */
  failure?: { type: string; reason?: string | undefined } | undefined;
};

/**
 * Attributes with few values each, or ids: never a token, a secret, a query, a body, or a requested path. Undefined
 * ones are left out.
 */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

/**
 * A trace context as one text, as stored with an event: the value of `traceparent` and, after a space, that of
 * `tracestate` if there is one (W3C Trace Context).
 */
export type Trace = string;

/** Which traces to keep, by OpenTelemetry's names. */
export const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplers)[number];

/** The trace context in these header fields, not yet validated. */
export function traceOf({ traceparent, tracestate }: Record<string, unknown>): Trace | undefined {
  if (typeof traceparent !== 'string') return undefined;
  return typeof tracestate === 'string' ? `${traceparent} ${tracestate}` : traceparent;
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** The parts of a `traceparent`; undefined if it is invalid. A later version may have more after them (§3.2.4). */
export function readTraceparent(
  traceparent: unknown,
): { traceId: string; spanId: string; flags: number } | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/** The trace id, which all spans of a trace share. */
export function traceIdOf(trace: Trace): string {
  return trace.slice(3, 35);
}

/** The header fields that carry a trace context. */
export function traceHeaders(trace: Trace | undefined): { traceparent?: string; tracestate?: string } {
  if (trace === undefined) return {};
  const space = trace.indexOf(' ');
  if (space < 0) return { traceparent: trace };
  return { traceparent: trace.slice(0, space), tracestate: trace.slice(space + 1) };
}
