import type { Delivery } from '../../../packages/client/src/client.ts';
import { quoted } from '../shell-word.ts';

/** The body, as `plantJson` of the service writes it, which the console cannot import. Ids over 2^53 keep every digit. */
export function bodyOf({ plant: { id, name, tag } }: Pick<Delivery, 'plant'>): string {
  return `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`;
}

/** A shell command that sends the same body without a signature. */
export function curlOf(url: string, delivery: Pick<Delivery, 'event' | 'plant'>): string {
  const headers = ['content-type: application/json', `webhook-id: ${delivery.event}`];
  return [
    // A URL may contain brackets, which curl would expand.
    `curl --globoff ${quoted(url)}`,
    ...headers.map((header) => `  -H ${quoted(header)}`),
    `  --data-raw ${quoted(bodyOf(delivery))}`,
  ].join(' \\\n');
}
