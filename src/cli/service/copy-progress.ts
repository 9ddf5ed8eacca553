import { throttle } from '../../runtime.ts';
import type { CopyReport } from '../../store/copy.ts';
import { barOf } from '../terminal/progress.ts';
import { isWatched, replaceLine, say } from '../terminal/terminal.ts';
import { roughDuration } from '../terminal/time.ts';

type CopyProgress = CopyReport & { end(): void };

const WORDS = { copy: 'Copying', verify: 'Comparing' } as const;
const EVERY_MS = 100;

/**
 * A bar on a terminal; elsewhere a line for each table that has rows.
 *
 * @param rows in the source
 */
export function showCopyProgress(rows: number): CopyProgress {
  return isWatched() ? showBar(rows) : showLines();
}

function showLines(): CopyProgress {
  let line = '';
  return {
    begins(phase, table) {
      line = `${WORDS[phase]} ${table}`;
    },
    advances(rows) {
      if (rows === 0 || line === '') return;
      say(line);
      line = '';
    },
    end() {},
  };
}

function showBar(rows: number): CopyProgress {
  const startedAt = performance.now();
  // Every row is read once to copy it, and once on each side to compare it.
  const steps = 3 * rows;
  let done = 0;
  let what = '';
  const isDue = throttle(EVERY_MS);

  function show(): void {
    const part = steps === 0 ? 1 : Math.min(1, done / steps);
    replaceLine(`${what.padEnd(24)} ${barOf(part, 30)} ${roughDuration(performance.now() - startedAt)}`);
  }

  return {
    begins(phase, table) {
      what = `${WORDS[phase]} ${table}`;
      show();
    },
    advances(more) {
      done += more;
      if (isDue()) show();
    },
    end: () => replaceLine(''),
  };
}
