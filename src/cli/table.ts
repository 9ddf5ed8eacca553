import { styleText } from 'node:util';
import { visible } from './terminal.ts';

/** What `styleText` looks at to decide about colour. */
type Stream = NodeJS.WriteStream;

const GAP = '  ';

/**
 * Columns under their headings, aligned also where characters take two cells or none. Characters that a
 * terminal would obey are shown as escapes.
 */
export function renderTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  stream: Stream,
): string {
  const lines = [headings, ...rows].map((cells) => cells.map(visible));
  const widths = headings.map((_, column) => Math.max(...lines.map((cells) => widthOf(cells[column] ?? ''))));
  const rendered = lines.map((cells) =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join(GAP)
      .trimEnd(),
  );
  return [styleText('bold', rendered[0] ?? '', { stream }), ...rendered.slice(1)].join('\n');
}

/** A line of `renderFields`; one without a text is left out. */
export type Field = readonly [label: string, text: string | undefined];

/** One thing: a line for each of its members, the labels aligned. */
export function renderFields(fields: readonly Field[], stream: Stream): string {
  const width = Math.max(...fields.map(([label]) => widthOf(label)));
  return fields
    .flatMap(([label, text]) => {
      if (text === undefined) return [];
      const padding = ' '.repeat(width - widthOf(label));
      return `${styleText('bold', label, { stream })}${padding}${GAP}${visible(text)}`;
    })
    .join('\n');
}

const graphemes = new Intl.Segmenter();
const WIDE =
  /[[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u{fe0f}\u{3000}-\u{303e}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}]--[\u{ff61}-\u{ffdc}]]/v;

/** Terminal cells: two for an East Asian wide character or an emoji, with all that is joined to it. */
function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}
