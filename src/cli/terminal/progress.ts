import type { WholeReport } from '../../store/sqlite/files/whole-store.ts';
import { replaceLine } from './terminal.ts';
import { roughDuration } from './time.ts';

/** `[#####-----]  50 %` @param part from 0 to 1 */
export function barOf(part: number, cells: number): string {
  const full = Math.floor(part * cells);
  const percent = String(Math.floor(part * 100)).padStart(3);
  return `[${'#'.repeat(full)}${'-'.repeat(cells - full)}] ${percent} %`;
}

/** A line that shows how long something has taken. Starts now. Shown on a terminal only. */
export function showProgress(what: string) {
  const startedAt = performance.now();
  let shown = '';

  function show(text: string): void {
    if (text === shown) return;
    replaceLine(text);
    shown = text;
  }

  return {
    /** Shows the line, with how much is done, unless it is up to date. */
    update(done?: string): void {
      const time = roughDuration(performance.now() - startedAt);
      show(`${what}: ${done === undefined ? time : `${done}, ${time}`}`);
    },
    end: () => show(''),
  };
}

/**
 * For a backup or a restore. Shown on a terminal only.
 * @param bytes of the source; the copy may be smaller, since it omits deleted data
 */
export function showWholeProgress(bytes: number): WholeReport & Disposable {
  return {
    copied: (done) => replaceLine(`Copying: ${sizeText(done)} of at most ${sizeText(bytes)}`),
    checks: () => replaceLine('Checking the copy'),
    [Symbol.dispose]: () => replaceLine(''),
  };
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A size in the largest unit that it fills, with one decimal: `116.3 MiB`. */
export function sizeText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${UNITS[power]}`;
}
