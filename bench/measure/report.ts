import type { Sample } from './compare.ts';
import { DISTURBED } from './usage.ts';

/** The results of a section. */
export type Report = { figures: Figure[]; loads?: Map<string, Sample[]>; notes?: string[] };

export type Figure = {
  name: string;
  /** `×` for a ratio. */
  unit: string;
  /** One for each round; the table shows their median, min and max. */
  values: number[];
  /** A figure without a target is for comparison. */
  target?: { atLeast: number } | { atMost: number };
};

export type Summary = { median: number; min: number; max: number };

export function summary(values: number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const middle = (sorted.length - 1) / 2;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    min: at(0),
    max: at(sorted.length - 1),
  };
}

/** Whether the median reaches the target; undefined without one. */
export function isMet({ values, target }: Figure): boolean | undefined {
  if (!target) return undefined;
  const { median } = summary(values);
  return 'atLeast' in target ? median >= target.atLeast : median <= target.atMost;
}

/** The table of all figures against their targets. */
export function figureTable(figures: Figure[]): string {
  const rows = figures.map((figure) => {
    const { median, min, max } = summary(figure.values);
    const [met, target] = [isMet(figure), targetText(figure)];
    const verdict = met === undefined ? '' : met ? 'met' : 'MISSED';
    return [figure.name, target, `${short(median)} ${figure.unit}`, short(min), short(max), verdict];
  });
  return table(['figure', 'target', 'median', 'min', 'max', ''], rows);
}

/** The figures of servers and generator under each load: medians over the rounds. */
export function loadTable(loads: Map<string, Sample[]>): string {
  const rows = [...loads].map(([name, samples]) => {
    const median = (figure: (sample: Sample) => number) => summary(samples.map(figure)).median;
    return [
      name,
      median(({ rate }) => rate).toFixed(0),
      short(median(({ p50 }) => p50)),
      short(median(({ p99 }) => p99)),
      median(({ cpuPerAnswer }) => cpuPerAnswer).toFixed(1),
      percent(median(({ serverBusy }) => serverBusy)),
      percent(median(({ generatorBusy }) => generatorBusy)),
      percent(median(({ othersBusy }) => othersBusy)),
    ];
  });
  const head = ['load', 'answers/s', 'p50 ms', 'p99 ms', 'server µs/answer', 'server', 'generator', 'others'];
  return table(head, rows);
}

const SATURATED = 0.95;

/** Why the figures of a load are doubtful. */
export function warnings(loads: Map<string, Sample[]>): string[] {
  return [...loads].flatMap(([name, samples]) => {
    const median = (figure: (sample: Sample) => number) => summary(samples.map(figure)).median;
    const found: string[] = [];
    if (median((s) => s.generatorBusy) > SATURATED && median((s) => s.serverBusy) < SATURATED) {
      found.push(`${name}: the generator was busier than the server, which could have answered more`);
    }
    if (median((s) => s.othersBusy) > DISTURBED) {
      found.push(`${name}: other processes took ${percent(median((s) => s.othersBusy))} of a core`);
    }
    return found;
  });
}

/** Columns as wide as their widest cell; the first left-aligned, the others right-aligned. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: string[]) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '─'.repeat(width)).join('  ');
  return [line(head), rule, ...rows.map(line)].join('\n');
}

function targetText({ target, unit }: Figure): string {
  if (!target) return '';
  return 'atLeast' in target ? `≥ ${target.atLeast} ${unit}` : `≤ ${target.atMost} ${unit}`;
}

/** Three significant digits; a whole number from 100 on; empty if not measured. */
function short(value: number): string {
  if (Number.isNaN(value)) return '';
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
