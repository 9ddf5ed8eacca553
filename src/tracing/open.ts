import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
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
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { tracing as limits } from '../limits.ts';
import { type Log, type Runtime, throttle } from '../runtime.ts';
import {
  readTraceparent,
  type SamplerName,
  type Span,
  type Trace,
  type Tracer,
  traceHeaders,
} from './port.ts';

/** Traces, by OpenTelemetry. Loaded only with a collector; nothing else imports its packages. */

export type TracingOptions = {
  /** Of the collector, without a trailing slash. */
  endpoint: string;
  /** May contain a secret. */
  headers: Readonly<Record<string, string>>;
  sampler: SamplerName;
  /** The share of traces that a ratio sampler keeps. */
  ratio: number;
  /** Identifies the service and the process of the spans. */
  service: { name: string; version: string; attributes: Readonly<Record<string, string>> };
};

export type Tracing = ReturnType<typeof openTracing>;

export function openTracing(options: TracingOptions, { log }: Pick<Runtime, 'log'>) {
  const { name, version, attributes } = options.service;
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.version': version,
        ...attributes,
        'service.name': name,
      }),
    ),
    sampler: samplerOf(options.sampler, options.ratio),
    spanProcessors: [exportTo(options, log)],
    spanLimits: { attributeValueLengthLimit: limits.attributeLength },
  });

  async function shutDown(): Promise<void> {
    // Failures have been logged, or concern spans that nobody will see.
    const flushed = provider.shutdown().catch(() => {});
    await Promise.race([flushed, pause(limits.flushMs, undefined, { ref: false })]);
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
  let root: Sampler = new AlwaysOnSampler();
  if (name.endsWith('always_off')) root = new AlwaysOffSampler();
  if (name.endsWith('traceidratio')) root = new TraceIdRatioBasedSampler(ratio);
  return name.startsWith('parentbased') ? new ParentBasedSampler({ root }) : root;
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT };

function tracerOn(sdk: SdkTracer): Tracer {
  return {
    begin(kind, name, from, attributes) {
      const parent = from === undefined ? undefined : spanContextOf(from);
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      const span = sdk.startSpan(name, { kind: KINDS[kind] }, context);
      if (!span.isRecording()) return unkept(traceAt(span.spanContext()));
      span.setAttributes(attributes);
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
    mark: (what) => void span.addEvent(what),
    note: (attributes) => void span.setAttributes(attributes),
    end({ attributes, failure } = {}) {
      if (attributes) span.setAttributes(attributes);
      if (failure) {
        span.setAttribute('error.type', failure.type);
        span.setStatus({ code: SpanStatusCode.ERROR, ...(failure.reason && { message: failure.reason }) });
      }
      span.end();
    },
  };
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

/**
 * Exports ended spans to a collector (OTLP over HTTP, as JSON), many at a time. A collector that is down, slow or
 * silent costs spans, never a request: spans that do not fit the queue are dropped, and the log says so from time to
 * time.
 */
function exportTo({ endpoint, headers }: TracingOptions, log: Log): SpanProcessor {
  const lost = reportLosses(log, endpoint);
  // Other settings come from the environment: certificates, compression.
  const url = `${endpoint}/v1/traces`;
  const stopEnding = endLateRequests(new URL(url));
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: limits.exportMs,
    concurrencyLimit: limits.exportsTogether,
  });
  /** Ended spans that are not exported yet. */
  let queued = 0;

  const counting: SpanExporter = {
    export(spans, done) {
      queued -= spans.length;
      exporter.export(spans, (result) => {
        if (result.error !== undefined) lost(spans.length, result.error);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
  const batches = new BatchSpanProcessor({
    exporter: counting,
    maxQueueSize: limits.queuedSpans,
    maxExportBatchSize: limits.spansTogether,
    scheduledDelayMillis: limits.exportEveryMs,
    exportTimeoutMillis: limits.exportMs + limits.exportGraceMs,
  });
  return {
    onStart() {},
    onEnd(span) {
      if (queued >= limits.queuedSpans) {
        lost(1, undefined);
        return;
      }
      queued++;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown().finally(stopEnding),
  };
}

/**
 * Ends requests to the collector that take too long, until it is stopped. The library limits only silence: a
 * collector that sends its response byte by byte would hold each of the few allowed requests forever.
 */
function endLateRequests({ host, pathname }: URL): () => void {
  const created = 'http.client.request.created';
  function onCreated(message: unknown): void {
    // As Node documents the messages of this channel.
    const { request } = message as { request: ClientRequest };
    if (request.getHeader('host') !== host || request.path !== pathname) return;
    const late = setTimeout(() => request.destroy(), limits.exportMs + limits.exportGraceMs).unref();
    request.once('close', () => clearTimeout(late));
  }
  subscribe(created, onCreated);
  return () => void unsubscribe(created, onCreated);
}

/** Logs what was lost, and why, the first time and then periodically. */
function reportLosses(log: Log, endpoint: string): (spans: number, error: Error | undefined) => void {
  const isTold = throttle(limits.complainEveryMs);
  let spans = 0;
  // Without the user and password that it may contain.
  const { origin } = new URL(endpoint);
  return (more, error) => {
    spans += more;
    if (!isTold()) return;
    log.warn(
      { collector: origin, spans, reason: reasonOf(error) },
      'spans were lost: the trace collector is unavailable or too slow',
    );
    spans = 0;
  };
}

/** Contains nothing of the collector's response, which may quote the request. */
function reasonOf(error: Error | undefined): string {
  if (error === undefined) return 'the queue is full';
  const { code } = error as { code?: unknown };
  if (typeof code === 'number') return `it answered ${code}`;
  return typeof code === 'string' ? code : error.message;
}
