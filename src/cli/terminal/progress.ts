import { isWatched, replaceLine } from './terminal.ts';
import { roughDuration } from './time.ts';

/** A line that shows how long something has taken. */
export type Progress = {
  /** Shows the line, with how much is done, unless it is up to date. */
  update(done?: string): void;
  end(): void;
};

/** `[#####-----]  50 %` @param part from 0 to 1 */
export function barOf(part: number, cells: number): string {
  const full = Math.floor(part * cells);
  const percent = String(Math.floor(part * 100)).padStart(3);
  return `[${'#'.repeat(full)}${'-'.repeat(cells - full)}] ${percent} %`;
}

/** Starts now. Shown on a terminal only. */
export function showProgress(what: string): Progress {
  const startedAt = performance.now();
  let shown = '';

  function show(text: string): void {
    if (!isWatched() || text === shown) return;
    replaceLine(text);
    shown = text;
  }

  return {
    update(done) {
      const time = roughDuration(performance.now() - startedAt);
      show(`${what}: ${done === undefined ? time : `${done}, ${time}`}`);
    },
    end: () => show(''),
  };
}
