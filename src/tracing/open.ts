import { setTimeout as pause } from 'node:timers/promises';
import {
  createTraceState,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type Tracer as SdkTracer,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { tracing as limits } from '../limits.ts';
import type { Runtime } from '../runtime.ts';
import { type Collector, exportTo } from './export.ts';
import {
  type Attributes,
  readTraceparent,
  type SamplerName,
  type Span,
  type Trace,
  type Tracer,
  traceHeaders,
} from './port.ts';

/** Traces, by OpenTelemetry. Loaded only with a collector; nothing else imports its packages. */

export type TracingOptions = Collector & {
  sampler: SamplerName;
  /** The share of traces that a ratio sampler keeps. */
  ratio: number;
  /** Identifies the service and the process of the spans. */
  service: { name: string; version: string; attributes: Readonly<Record<string, string>> };
};

export type Tracing = ReturnType<typeof openTracing>;

export function openTracing(options: TracingOptions, { log, random }: Pick<Runtime, 'log' | 'random'>) {
  const { name, version, attributes } = options.service;
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.version': version,
        'service.instance.id': random(16).toString('hex'),
        ...attributes,
        'service.name': name,
      }),
    ),
    sampler: samplerOf(options.sampler, options.ratio),
    spanProcessors: [exportTo(options, log)],
    spanLimits: { attributeValueLengthLimit: limits.attributeLength },
  });

  async function shutDown(): Promise<void> {
    const late = new AbortController();
    // Failures have been logged, or concern spans that nobody will see.
    const flushed = provider.shutdown().catch(() => {});
    await Promise.race([flushed, pause(limits.flushMs, undefined, { signal: late.signal }).catch(() => {})]);
    late.abort();
  }

  let stopping: Promise<void> | undefined;
  return {
    tracer: tracerOn(provider.getTracer('plant-store', version)),
    /** Exports the ended spans, for a short time at most. May be called twice. */
    stop: () => (stopping ??= shutDown()),
  };
}

/** @param ratio of traces, for ratio samplers */
function samplerOf(name: SamplerName, ratio: number): Sampler {
  const parents = 'parentbased_';
  // Without the prefix, the name is one of the others.
  if (name.startsWith(parents)) {
    return new ParentBasedSampler({ root: samplerOf(name.slice(parents.length) as SamplerName, ratio) });
  }
  if (name === 'always_off') return new AlwaysOffSampler();
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT };

function tracerOn(sdk: SdkTracer): Tracer {
  return {
    begin(kind, name, from, attributes) {
      const parent = from === undefined ? undefined : spanContextOf(from);
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      const span = sdk.startSpan(name, { kind: KINDS[kind] }, context);
      if (!span.isRecording()) return unkept(traceAt(span.spanContext()));
      span.setAttributes(given(attributes));
      return spanOn(sdk, span);
    },
  };
}

/** For a trace that is not kept: only its context is passed on. */
function unkept(at: Trace): Span {
  const span: Span = { trace: at, begin: () => span, mark() {}, note() {}, end() {} };
  return span;
}

function spanOn(sdk: SdkTracer, span: SdkSpan): Span {
  return {
    trace: traceAt(span.spanContext()),
    begin: (name) => spanOn(sdk, sdk.startSpan(name, {}, trace.setSpan(ROOT_CONTEXT, span))),
    mark: (what, at) => void span.addEvent(what, at),
    note: (attributes) => void span.setAttributes(given(attributes)),
    end({ attributes, failure, at } = {}) {
      if (attributes) span.setAttributes(given(attributes));
      if (failure) {
        span.setAttribute('error.type', failure.type);
        span.setStatus({ code: SpanStatusCode.ERROR, ...(failure.reason && { message: failure.reason }) });
      }
      span.end(at);
    },
  };
}

function given(attributes: Attributes): Record<string, string | number> {
  const all: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) all[name] = value;
  return all;
}

/** Parses a trace context; undefined for an invalid one, whose sender then counts as having none. */
export function spanContextOf(trace: Trace): SpanContext | undefined {
  const { traceparent, tracestate } = traceHeaders(trace);
  const read = readTraceparent(traceparent);
  if (!read) return undefined;
  const { traceId, spanId, flags } = read;
  const context: SpanContext = { traceId, spanId, traceFlags: flags & TraceFlags.SAMPLED, isRemote: true };
  // A longer one may be dropped (§3.3.1.5). The parser keeps only entries that are valid in a header.
  if (tracestate === undefined || tracestate.length > limits.stateLength) return context;
  return { ...context, traceState: createTraceState(tracestate) };
}

/** The text of a trace context. */
export function traceAt({ traceId, spanId, traceFlags, traceState }: SpanContext): Trace {
  const flags = traceFlags & TraceFlags.SAMPLED ? '01' : '00';
  const state = traceState?.serialize();
  return `00-${traceId}-${spanId}-${flags}${state ? ` ${state}` : ''}`;
}
