import type { Members } from './answer-reader.ts';
import { display } from './limits.ts';
import { type Field, renderFields, renderTable } from './table.ts';
import type { Line } from './terminal.ts';

/** As wide as the widest of the cells below them, so that the pages of a long list line up. */
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

/** A delivery in a list, under `deliveryHeadings`. */
export function deliveryRow(delivery: Members): string[] {
  const plant = delivery.members('plant');
  return [
    delivery.text('event'),
    delivery.text('type'),
    delivery.text('state'),
    String(delivery.count('attempts')),
    delivery.optionalText('nextAttemptAt') ?? '-',
    String(plant.integer('id')),
    plant.text('name'),
    delivery.optionalText('reason') ?? '',
  ];
}

/** A delivery with its attempts. */
export function renderDelivery(delivery: Members): Line[] {
  const fields = renderFields(deliveryFields(delivery));
  const attempts = delivery.list('history').map(attemptRow);
  if (attempts.length === 0) return fields;
  const table = renderTable(['ATTEMPT AT', 'DURATION', 'ADDRESS', 'STATUS', 'ANSWER'], attempts);
  return [...fields, '', ...table];
}

function deliveryFields(delivery: Members): Field[] {
  const plant = delivery.members('plant');
  return [
    ['Event', delivery.text('event')],
    ['Type', delivery.text('type')],
    ['Created', delivery.text('createdAt')],
    ['Plant', String(plant.integer('id'))],
    ['Name', plant.text('name')],
    ['Tag', plant.optionalText('tag')],
    ['State', delivery.text('state')],
    ['Attempts', String(delivery.count('attempts'))],
    ['Next attempt', delivery.optionalText('nextAttemptAt')],
    ['Reason', delivery.optionalText('reason')],
  ];
}

function attemptRow(attempt: Members): string[] {
  return [
    attempt.text('at'),
    `${attempt.count('durationMs')} ms`,
    attempt.optionalText('address') ?? '-',
    String(attempt.optionalCount('status') ?? '-'),
    attempt.optionalText('error') ?? excerptOf(attempt.optionalText('excerpt') ?? ''),
  ];
}

/** The first line of an answer, cut where it is long. */
function excerptOf(text: string): string {
  const [line = ''] = text.trim().split(/[\r\n]/, 1);
  // By code points, so that no character is cut in two.
  const characters = [...line];
  const cut = characters.slice(0, display.excerptLength).join('');
  return characters.length > display.excerptLength ? `${cut}…` : cut;
}
