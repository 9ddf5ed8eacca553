import { clearLine, cursorTo } from 'node:readline';
import { roughDuration } from './time.ts';

/** A line that says how long something has taken so far. */
export type Progress = {
  /** Shows the line, if it is not up to date. */
  update(): void;
  /** Takes the line away. */
  end(): void;
};

/** Of work that begins now. Only a terminal sees it. */
export function showProgress(what: string, stream: NodeJS.WriteStream): Progress {
  const startedAt = performance.now();
  let shown = '';

  function show(text: string): void {
    if (!stream.isTTY || text === shown) return;
    cursorTo(stream, 0);
    clearLine(stream, 0);
    stream.write(text);
    shown = text;
  }

  return {
    update: () => show(`${what}: ${roughDuration(performance.now() - startedAt)}`),
    end: () => show(''),
  };
}
