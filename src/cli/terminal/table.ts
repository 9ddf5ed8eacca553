import { type Line, visible } from './terminal.ts';

const GAP = '  ';

/** Rows that come bit by bit. */
export type GrowingTable = {
  /** The next rows, under the headings when they are the first. Columns are as wide as those before, or wider. */
  next(rows: readonly (readonly string[])[]): Line[];
};

/** A table whose end is not known when its beginning is shown. */
export function growingTable(headings: readonly string[]): GrowingTable {
  let widths: number[] | undefined;
  return {
    next(rows) {
      // What is shown counts: an escape is wider than what it stands for.
      const lines = rows.map((cells) => cells.map(visible));
      const first = widths === undefined;
      widths = widthsOf([headings, ...lines], widths);
      return renderLines(first ? headings : undefined, lines, widths);
    },
  };
}

/** Columns under their headings, aligned also where characters take two cells or none. */
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

/** A line of `renderFields`; one without a text is left out. */
export type Field = readonly [label: string, text: string | undefined];

/** One thing: a line for each of its members, the labels aligned. */
export function renderFields(fields: readonly Field[]): Line[] {
  const width = Math.max(...fields.map(([label]) => widthOf(label)));
  return fields.flatMap(([label, text]) => {
    if (text === undefined) return [];
    const padding = ' '.repeat(width - widthOf(label));
    return [[{ style: 'bold' as const, text: label }, padding + GAP + text]];
  });
}

const PLAIN = /^[ -~]*$/;
const graphemes = new Intl.Segmenter();
const WIDE =
  /[[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u{fe0f}\u{3000}-\u{303e}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}]--[\u{ff61}-\u{ffdc}]]/v;

/** Terminal cells: two for an East Asian wide character or an emoji, with all that is joined to it. */
function widthOf(text: string): number {
  // Nearly always, and a hundred times faster.
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}
