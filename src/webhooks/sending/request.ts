import { plantJson } from '../../plants/plant.ts';
import { timeText } from '../../runtime.ts';
import { type Trace, traceHeaders } from '../../tracing/port.ts';
import type { PlantEvent, SigningKeys } from '../port.ts';
import { sign } from './signature.ts';

/** The part of a delivery that determines the request. */
export type Sendable = {
  webhook: { id: string; url: string } & SigningKeys;
  event: PlantEvent;
  /** The trace in which the event was created. */
  trace?: Trace | undefined;
  /**
   * The trace for the receiver to continue; undefined when this service exports no traces, whatever is stored with
   * the event.
   */
  onward?: Trace | undefined;
  /** Attempts since its schedule began. */
  step?: number;
};

export type Prepared = ReturnType<typeof prepare>;

/**
 * The request of one attempt: the plant as a flat JSON body, signed (Standard Webhooks 1.0), with the CloudEvents 1.0
 * attributes as headers (HTTP binding, binary mode). Throws when a signing key cannot be read.
 * @param now milliseconds; the signature's timestamp
 * @param version of this service, for `user-agent`
 * @param source the service's public URL: `ce-source`
 */
export function prepare(sendable: Sendable, now: number, version: string, source: string) {
  const { webhook, event } = sendable;
  const timestamp = Math.floor(now / 1000);
  const body = plantJson(event.plant);
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': `plant-store/${version}`,
      'webhook-id': event.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': sign({ id: event.id, timestamp, body, keys: webhook }),
      'ce-specversion': '1.0',
      'ce-id': event.id,
      'ce-type': event.type,
      'ce-source': source,
      'ce-time': timeText(event.at),
      // Not signed: the signature covers id, time and body.
      ...traceHeaders(sendable.onward),
    },
    body,
  };
}
