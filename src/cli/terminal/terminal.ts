import { clearLine, cursorTo } from 'node:readline';
import { styleText } from 'node:util';
import { systemReasonOrCode } from '../service/system-failure.ts';
import { prettyJson } from './json.ts';

/**
 * All that the program writes to standard output and standard error passes through here, so that nothing a server, a
 * store or a file says is ever obeyed by a terminal. A verb hands over lines, JSON or CSV; it neither escapes nor styles.
 */

type Colour = 'red' | 'green' | 'yellow';

/** A piece of a line that the program itself makes stand out, on a terminal that shows it. */
export type Styled = { style: 'bold' | 'dim' | Colour; text: string };

/** One line without its end. Its pieces are text, whatever they hold: a line break in one is shown as an escape. */
export type Line = string | readonly (string | Styled)[];

/** Writes lines of data. Nothing else may go to standard output. */
export function print(...lines: readonly Line[]): void {
  put(process.stdout, inFull(lines, process.stdout));
}

/** The beginning of a line, whose rest is printed when it is known. */
export function printBeginning(line: Line): void {
  put(process.stdout, rendered(line, process.stdout));
}

/** Writes a value as indented JSON, every integer with all of its digits. */
export function printJson(value: unknown): void {
  void writeJson(`${prettyJson(value)}\n`);
}

/**
 * Writes a text of JSON, or a part of one, byte for byte; on a terminal, what it would obey is an escape of JSON, and so
 * the same data. Line feeds stand between values, and stay. Resolves when there is room for more.
 */
export function writeJson(text: string): Promise<void> {
  return putAll(isTerminal(process.stdout) ? safeJson(text) : text);
}

/** Writes whole rows of CSV likewise; on a terminal, for which CSV has no escapes, those of a line. */
export function writeCsv(text: string): Promise<void> {
  return putAll(isTerminal(process.stdout) ? safeCsv(text) : text);
}

/** What `--quiet` has set. Standard error is one for the whole process, and so is this. */
let quiet = false;

/** From now on a person is told of nothing but failures, and of what could not be learnt later. */
export function beQuiet(): void {
  quiet = true;
}

export function isQuiet(): boolean {
  return quiet;
}

/** Tells a person something, a line each, unless they want quiet. */
export function say(...lines: readonly Line[]): void {
  if (!quiet) insist(...lines);
}

/** Tells a person something that they need, quiet or not: a failure, a question, what is shown only once. */
export function insist(...lines: readonly Line[]): void {
  put(process.stderr, inFull(lines, process.stderr));
}

/** Shows what a person types at a question, and what moves the cursor there: for `readline` alone. */
export function echo(typed: Buffer): void {
  put(process.stderr, typed);
}

export function isOutputShown(): boolean {
  return isTerminal(process.stdout);
}

export function canAsk(): boolean {
  return isTerminal(process.stdin) && isTerminal(process.stderr);
}

export function isWatched(): boolean {
  return isTerminal(process.stderr) && !quiet;
}

/** The width of the terminal that shows standard output, or what is said; 80 where there is none. */
export function columnsOf(stream: 'output' | 'said'): number {
  return (stream === 'output' ? process.stdout : process.stderr).columns || 80;
}

/** Puts a text in place of the line on standard error that the cursor is in. Only for a terminal. */
export function replaceLine(text: string): void {
  cursorTo(process.stderr, 0);
  clearLine(process.stderr, 0);
  put(process.stderr, visible(text));
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

/** JSON without what a terminal would obey, which in valid JSON stands only in strings. */
export function safeJson(text: string): string {
  return text.replace(INVISIBLE, (character) => (character === '\n' ? character : jsonEscape(character)));
}

function jsonEscape(character: string): string {
  return character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** CSV likewise. A line feed in quotes is part of a cell, and could be taken for the end of the row. */
export function safeCsv(text: string): string {
  return text.replace(/"[^"]*"|[^"\n]+/g, visible);
}

/** One word of a POSIX shell, whatever the text holds. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

type Stream = NodeJS.WriteStream;

function isTerminal({ isTTY }: { isTTY?: boolean }): boolean {
  return isTTY === true;
}

function inFull(lines: readonly Line[], stream: Stream): string {
  return lines.map((line) => `${rendered(line, stream)}\n`).join('');
}

function rendered(line: Line, stream: Stream): string {
  if (typeof line === 'string') return visible(line);
  return line
    .map((piece) =>
      typeof piece === 'string' ? visible(piece) : styleText(piece.style, visible(piece.text), { stream }),
    )
    .join('');
}

/** A failure is told by the stream itself, a moment later. */
function putAll(text: string): Promise<void> {
  return new Promise((resolve) =>
    put(process.stdout, text, (error) => (error ? setImmediate(resolve) : resolve())),
  );
}

/** The only place that writes. */
function put(stream: Stream, safe: string | Buffer, done?: (error?: Error | null) => void): void {
  stream.write(safe, done);
}
