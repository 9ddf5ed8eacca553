import type { Delivery, DeliveryWithHistory } from '../../../packages/client/src/schemas.ts';
import { display } from '../limits.ts';
import { type Field, renderFields, renderTable } from '../terminal/table.ts';
import { type Line, shellWord } from '../terminal/terminal.ts';

/** As wide as their widest cells, so that the pages of a long list line up. */
export const deliveryHeadings = [
  'EVENT'.padEnd(30),
  'TYPE'.padEnd(13),
  'STATE'.padEnd(9),
  'ATTEMPTS',
  'NEXT ATTEMPT'.padEnd(24),
  'PLANT',
  'NAME',
  'REASON',
] as const;

export function deliveryRow(delivery: Delivery): string[] {
  const { event, type, state, attempts, nextAttemptAt = '-', plant, reason = '' } = delivery;
  return [event, type, state, String(attempts), nextAttemptAt, String(plant.id), plant.name, reason];
}

export function renderDelivery(delivery: DeliveryWithHistory): Line[] {
  const { plant, history } = delivery;
  const fields: Field[] = [
    ['Event', delivery.event],
    ['Type', delivery.type],
    ['Created', delivery.createdAt],
    ['Plant', String(plant.id)],
    ['Name', plant.name],
    ['Tag', plant.tag],
    ['State', delivery.state],
    ['Attempts', String(delivery.attempts)],
    ['Next attempt', delivery.nextAttemptAt],
    ['Reason', delivery.reason],
  ];
  if (history.length === 0) return renderFields(fields);
  const headings = ['ATTEMPT AT', 'DURATION', 'ADDRESS', 'STATUS', 'ANSWER'];
  return [...renderFields(fields), '', ...renderTable(headings, history.map(attemptRow))];
}

/**
 * Why a delivery is not sent soon, and how to send it; undefined when it is.
 *
 * @param now in milliseconds; the service's clock may differ from the one here
 */
export function whyLater(
  { webhook, event, state, nextAttemptAt }: Delivery,
  now = Date.now(),
): string | undefined {
  const enable = `plant-store webhook enable ${shellWord(webhook)}`;
  if (state === 'held') return `The webhook is disabled, so ${event} is held. To send it: ${enable}`;
  if (nextAttemptAt === undefined || Date.parse(nextAttemptAt) <= now + 1_000) return undefined;
  return `${event} is sent only at ${nextAttemptAt}. If the webhook is paused, end the pause: ${enable}`;
}

function attemptRow(attempt: DeliveryWithHistory['history'][number]): string[] {
  const { at, durationMs, address = '-', status = '-', error, excerpt = '' } = attempt;
  return [at, `${durationMs} ms`, address, String(status), error ?? firstLineOf(excerpt)];
}

function firstLineOf(text: string): string {
  const [line = ''] = text.trim().split(/[\r\n]/, 1);
  // By code points, to cut no character in two.
  const characters = [...line];
  const cut = characters.slice(0, display.excerptLength).join('');
  return characters.length > display.excerptLength ? `${cut}…` : cut;
}
