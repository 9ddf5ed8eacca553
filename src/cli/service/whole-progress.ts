import type { WholeReport } from '../../store/sqlite/files/whole-store.ts';
import { isWatched, replaceLine } from '../terminal/terminal.ts';

export type WholeProgress = WholeReport & {
  end(): void;
};

/** @param bytes of the source; the copy may be smaller, since it omits deleted data */
export function showWholeProgress(bytes: number): WholeProgress {
  const show = (text: string) => isWatched() && replaceLine(text);
  return {
    copied: (done) => void show(`Copying: ${sizeText(done)} of at most ${sizeText(bytes)}`),
    checks: () => void show('Checking the copy'),
    end: () => void show(''),
  };
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A size in the largest unit that it fills, with one decimal: `116.3 MiB`. */
export function sizeText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${UNITS[power]}`;
}
