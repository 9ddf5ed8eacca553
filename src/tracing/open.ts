import { setTimeout as pause } from 'node:timers/promises';
import {
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type Tracer as SdkTracer,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { tracing as limits } from '../limits.ts';
import type { Runtime } from '../runtime.ts';
import { type Collector, exportTo } from './export.ts';
import { placeOf, traceAt } from './place.ts';
import type { Attributes, SamplerName, Span, Trace, Tracer } from './port.ts';
import { samplerOf } from './sampler.ts';

/** Traces, by OpenTelemetry. Loaded only with a collector; nothing else imports its packages. */

export type TracingOptions = Collector & {
  sampler: SamplerName;
  /** The share of traces that a ratio sampler keeps. */
  ratio: number;
  /** Identifies the service and the process of the spans. */
  service: { name: string; version: string; attributes: Readonly<Record<string, string>> };
};

export type Tracing = {
  tracer: Tracer;
  /** Exports the ended spans, for a short time at most. May be called twice. */
  stop(): Promise<void>;
};

export function openTracing(
  options: TracingOptions,
  { log, random }: Pick<Runtime, 'log' | 'random'>,
): Tracing {
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
    stop: () => (stopping ??= shutDown()),
  };
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT };

function tracerOn(sdk: SdkTracer): Tracer {
  return {
    begin(kind, name, from, attributes) {
      const place = from === undefined ? undefined : placeOf(from);
      const context = place ? trace.setSpanContext(ROOT_CONTEXT, place) : ROOT_CONTEXT;
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
