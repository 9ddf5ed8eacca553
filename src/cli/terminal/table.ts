import { type Line, visible } from './terminal.ts';

const GAP = '  ';

export function growingTable(headings: readonly string[]) {
  let widths = headings.map(widthOf);
  let isFirst = true;
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join(GAP)
      .trimEnd();
  return {
    /** Renders the next rows, the first ones under the headings. Columns never become narrower. */
    next(rows: readonly (readonly string[])[]): Line[] {
      // Measure the escaped text: an escape is wider than the character.
      const cells = rows.map((row) => row.map(visible));
      widths = widths.map((least, column) =>
        cells.reduce((width, row) => Math.max(width, widthOf(row[column] ?? '')), least),
      );
      const lines: Line[] = cells.map(line);
      if (isFirst) lines.unshift([{ style: 'bold', text: line(headings) }]);
      isFirst = false;
      return lines;
    },
  };
}

/** Renders columns under their headings, aligned even where characters take two cells or none. */
export function renderTable(headings: readonly string[], rows: readonly (readonly string[])[]): Line[] {
  return growingTable(headings).next(rows);
}

/** A line of `renderFields`; omitted when the text is undefined. */
export type Field = readonly [label: string, text: string | undefined];

/** Renders one thing: a line for each field, the texts aligned. */
export function renderFields(fields: readonly Field[]): Line[] {
  const width = Math.max(...fields.map(([label]) => widthOf(label)));
  return fields.flatMap(([label, text]) => {
    if (text === undefined) return [];
    const padding = ' '.repeat(width - widthOf(label));
    return [[{ style: 'bold' as const, text: label }, padding + GAP + text]];
  });
}

const PLAIN = /^[ -~]*$/;
/** Created on first use: it takes a tenth of the time of a short command. */
let graphemes: Intl.Segmenter | undefined;
const WIDE =
  /[[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u{fe0f}\u{3000}-\u{303e}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}]--[\u{ff61}-\u{ffdc}]]/v;

/** Terminal cells: two for an East Asian wide character or an emoji sequence. */
function widthOf(text: string): number {
  // The common case, a hundred times faster.
  if (PLAIN.test(text)) return text.length;
  graphemes ??= new Intl.Segmenter();
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}
