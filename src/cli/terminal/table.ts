import { type Line, visible } from './terminal.ts';

const GAP = '  ';

export function growingTable(headings: readonly string[]) {
  let widths: number[] | undefined;
  return {
    /** Renders the next rows, the first ones under the headings. Columns never become narrower. */
    next(rows: readonly (readonly string[])[]): Line[] {
      // Measure the escaped text: an escape is wider than the character.
      const lines = rows.map((cells) => cells.map(visible));
      const first = widths === undefined;
      widths = widthsOf([headings, ...lines], widths);
      return renderLines(first ? headings : undefined, lines, widths);
    },
  };
}

/** Renders columns under their headings, aligned even where characters take two cells or none. */
export function renderTable(headings: readonly string[], rows: readonly (readonly string[])[]): Line[] {
  return growingTable(headings).next(rows);
}

function widthsOf(lines: readonly (readonly string[])[], least: readonly number[] = []): number[] {
  const [headings = []] = lines;
  return headings.map((_, column) =>
    lines.reduce((width, cells) => Math.max(width, widthOf(cells[column] ?? '')), least[column] ?? 0),
  );
}

function renderLines(
  headings: readonly string[] | undefined,
  lines: readonly (readonly string[])[],
  widths: readonly number[],
): Line[] {
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join(GAP)
      .trimEnd();
  const rendered = lines.map(line);
  return headings === undefined ? rendered : [[{ style: 'bold', text: line(headings) }], ...rendered];
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
