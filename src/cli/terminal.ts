import { clearLine, cursorTo } from 'node:readline';
import { systemReasonOrCode } from './system-failure.ts';

/** Writes data. Nothing else may go to standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** What `--quiet` has set. Standard error is one for the whole process, and so is this. */
let quiet = false;

/** From now on a person is told of nothing but failures, and of what could not be learnt later. */
export function beQuiet(): void {
  quiet = true;
}

/** Tells a person something, unless they want quiet. */
export function say(text: string): void {
  if (!quiet) insist(text);
}

/** Tells a person something that they need, quiet or not: a failure, a question, what is shown only once. */
export function insist(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Whether `--quiet` was given. */
export function isQuiet(): boolean {
  return quiet;
}

/** Whether to show how far something is. */
export function isWatched(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY && !quiet;
}

/** Puts a text in place of the line that the cursor of a terminal is in. */
export function replaceLine(stream: NodeJS.WriteStream, text: string): void {
  cursorTo(stream, 0);
  clearLine(stream, 0);
  stream.write(text);
}

/**
 * Whoever reads the output may stop reading (`plant-store token list | head -1`): that is no failure. Anything else that
 * a write meets, such as a full disk, ends the process: what it does has nowhere to go.
 */
export function ignoreBrokenPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      if (stream === process.stdout) {
        insist(`error: Standard output cannot be written: ${systemReasonOrCode(error)}.`);
      }
      process.exit(1);
    });
  }
}

/** Aborted as soon as a write shows that nobody reads standard output any more: there is nothing left to do. */
export function outputAbandoned(): AbortSignal {
  const abandoned = new AbortController();
  process.stdout.once('error', () => abandoned.abort());
  return abandoned.signal;
}

/** Controls, line and paragraph separators, and format characters; not the two that join letters and emoji. */
const INVISIBLE = /[[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]--[\u200c\u200d]]/gv;

/** Shows what would move the cursor, turn the text round or hide in it as an escape: `\u{1b}`. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** One word of a POSIX shell, whatever the text holds. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
