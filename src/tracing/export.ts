import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';
import { tracing as limits } from '../limits.ts';
import { type Log, throttle } from '../runtime.ts';

export type Collector = {
  /** Without a slash at its end. */
  endpoint: string;
  /** May hold a secret. */
  headers: Readonly<Record<string, string>>;
};

/**
 * Hands spans that have ended to a collector (OTLP over HTTP, as JSON), many at a time. One that is down, slow or
 * silent costs spans, never a request: what finds no room in the queue is dropped, and the log says so once in a while.
 */
export function exportTo({ endpoint, headers }: Collector, log: Log): SpanProcessor {
  const lost = reportLosses(log, endpoint);
  // What is not given here, it takes from the environment: certificates, compression.
  const url = `${endpoint}/v1/traces`;
  const stopEnding = endLateRequests(new URL(url));
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: limits.exportMs,
    concurrencyLimit: limits.exportsTogether,
  });
  /** Spans that have ended and were not handed over. */
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
 * Ends requests to the collector that take too long, until it is told to stop. The library bounds only how long it hears
 * nothing: one that sends its answer byte by byte would hold each of the few requests that there may be for ever.
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

/** Says what was lost, and why, at the first time and then once in a while. */
function reportLosses(log: Log, endpoint: string): (spans: number, error: Error | undefined) => void {
  const isTold = throttle(limits.complainEveryMs);
  let spans = 0;
  // Without what it may hold beside: user and password.
  const { origin } = new URL(endpoint);
  return (more, error) => {
    spans += more;
    if (!isTold()) return;
    log.warn(
      { collector: origin, spans, reason: reasonOf(error) },
      'spans were lost: the collector of traces takes none, or not so many',
    );
    spans = 0;
  };
}

/** Nothing of what the collector answered, which may quote what it was sent. */
function reasonOf(error: Error | undefined): string {
  if (error === undefined) return 'the queue is full';
  const { code } = error as { code?: unknown };
  if (typeof code === 'number') return `it answered ${code}`;
  return typeof code === 'string' ? code : error.message;
}
