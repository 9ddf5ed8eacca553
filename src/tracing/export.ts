import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';
import { tracing as limits } from '../limits.ts';
import { type Log, throttle } from '../runtime.ts';

export type Collector = {
  /** Without a trailing slash. */
  endpoint: string;
  /** May contain a secret. */
  headers: Readonly<Record<string, string>>;
};

/**
 * Exports ended spans to a collector (OTLP over HTTP, as JSON), many at a time. A collector that is down, slow or
 * silent costs spans, never a request: spans that do not fit the queue are dropped, and the log says so from time to
 * time.
 */
export function exportTo({ endpoint, headers }: Collector, log: Log): SpanProcessor {
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
