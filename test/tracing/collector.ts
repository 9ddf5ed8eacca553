import assert from 'node:assert/strict';
import { type Reply, startReceiver } from '../../testkit/receivers/receiver.ts';

/** A real collector on loopback that records what it gets (OTLP over HTTP, as JSON). */
export type Collector = {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  endpoint: string;
  /** Every span so far. */
  spans(): CollectedSpan[];
  /** Resolves with all spans once the wanted ones are among them; rejects after 20 s. */
  collect(areThere: (spans: readonly CollectedSpan[]) => boolean): Promise<CollectedSpan[]>;
  /** Everything received, as text. */
  text(): string;
  /** The header fields of the first request. */
  headers(): Record<string, unknown>;
  /** Sets its answer from now on. */
  usually(answer: Reply): void;
  stop(): Promise<void>;
};

export type CollectedSpan = {
  trace: string;
  id: string;
  /** Undefined for the root of a trace. */
  parent: string | undefined;
  state: string | undefined;
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  attributes: Readonly<Record<string, unknown>>;
  events: readonly string[];
  failed: boolean;
  reason: string | undefined;
  startMs: number;
  endMs: number;
  /** The process that recorded it. */
  resource: Readonly<Record<string, unknown>>;
};

export async function startCollector(): Promise<Collector> {
  const receiver = await startReceiver();
  receiver.usually({ status: 200, headers: { 'content-type': 'application/json' }, body: '{}' });

  function spans(): CollectedSpan[] {
    return receiver.received.flatMap(({ path, body }) => {
      assert.equal(path, '/v1/traces');
      return spansOf(JSON.parse(body.toString()));
    });
  }

  return {
    endpoint: `http://127.0.0.1:${receiver.port}`,
    spans,
    async collect(areThere) {
      for (;;) {
        const requests = receiver.received.length;
        const all = spans();
        if (areThere(all)) return all;
        await receiver.receive(requests + 1);
      }
    },
    text: () => receiver.received.map(({ body }) => body.toString()).join('\n'),
    headers: () => receiver.received[0]?.headers ?? {},
    usually: receiver.usually,
    stop: receiver.stop,
  };
}

type Pair = { key: string; value: Record<string, unknown> };

/** The parts of the protocol's message in use (opentelemetry-proto, `trace/v1`), in its JSON mapping. */
type Message = {
  resourceSpans: {
    resource: { attributes: Pair[] };
    scopeSpans: {
      spans: {
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        traceState?: string;
        name: string;
        kind: number;
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        attributes: Pair[];
        events: { name: string }[];
        status: { code?: number; message?: string };
      }[];
    }[];
  }[];
};

function spansOf({ resourceSpans }: Message): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        trace: span.traceId,
        id: span.spanId,
        parent: span.parentSpanId || undefined,
        state: span.traceState,
        name: span.name,
        kind: span.kind,
        attributes: objectOf(span.attributes),
        events: span.events.map(({ name }) => name),
        failed: span.status.code === 2,
        reason: span.status.message,
        startMs: Number(span.startTimeUnixNano) / 1e6,
        endMs: Number(span.endTimeUnixNano) / 1e6,
        resource: objectOf(resource.attributes),
      })),
    ),
  );
}

function objectOf(pairs: readonly Pair[]): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** The only span of this name in this trace. */
export function spanOf(spans: readonly CollectedSpan[], name: string, trace: string): CollectedSpan {
  const found = spans.filter((span) => span.name === name && span.trace === trace);
  assert.equal(found.length, 1, `${found.length} spans ${name} in ${trace}`);
  // Exactly one was found.
  return found[0] as CollectedSpan;
}

/** Whether this many spans of this name exist. */
export function has(name: string, count = 1) {
  return (spans: readonly CollectedSpan[]) => spans.filter((span) => span.name === name).length >= count;
}

export const DELIVERY = 'POST webhook';

let traces = 0;

/** A position in a new trace, in a client's form. */
export function clientTrace(flags = '01') {
  traces++;
  const trace = `${process.pid.toString(16)}${traces.toString(16)}`.padStart(32, 'c');
  const span = traces.toString(16).padStart(16, 'd');
  return { trace, span, traceparent: `00-${trace}-${span}-${flags}` };
}
