import type { DeliveryState } from '../webhooks/port.ts';
import { call } from './api.ts';
import type { Api } from './api-options.ts';
import { Failure } from './failure.ts';
import type { JsonValue } from './json.ts';
import { requests } from './limits.ts';
import { nextCursor } from './next-cursor.ts';

export type PageQuery = {
  webhook: string;
  state: DeliveryState | undefined;
  /** Deliveries in all; Infinity for every one. */
  limit: number;
  /** No page is asked for after it was aborted. */
  signal?: AbortSignal;
};

export type Page = {
  deliveries: JsonValue[];
  /** Whether there are deliveries behind it. */
  more: boolean;
};

/** The deliveries of a webhook, newest first, a page at a time, so that a long list takes no more memory. */
export async function* deliveryPages(api: Api, query: PageQuery): AsyncGenerator<Page> {
  const { webhook, state, limit, signal } = query;
  let left = limit;
  let cursor: string | undefined;
  do {
    const parameters = new URLSearchParams({ limit: String(Math.min(left, requests.pageDeliveries)) });
    if (state !== undefined) parameters.set('state', state);
    if (cursor !== undefined) parameters.set('cursor', cursor);
    const { body, headers } = await call(api, 'GET', `/webhooks/${webhook}/deliveries?${parameters}`);
    if (!Array.isArray(body)) throw new Failure('The answer is not a list of deliveries.');
    cursor = nextCursor(headers.get('link'));
    left -= body.length;
    yield { deliveries: body, more: cursor !== undefined };
  } while (cursor !== undefined && left > 0 && !signal?.aborted);
}
