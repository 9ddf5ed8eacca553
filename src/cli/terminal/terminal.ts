import { clearLine, cursorTo } from 'node:readline';
import { styleText } from 'node:util';
import { systemReasonOrCode } from '../service/system-failure.ts';

/**
 * All output passes through here, so that a terminal never obeys text from a server, a store or a file. A verb passes
 * lines, JSON or CSV and neither escapes nor styles them.
 */

declare global {
  interface JSON {
    /** ECMAScript 2026, in Node since 22; missing from TypeScript's library. */
    rawJSON(text: string): object;
  }
}

type Colour = 'red' | 'green' | 'yellow';

/** Part of a line that the program highlights on a terminal. */
export type Styled = { style: 'bold' | 'dim' | Colour; text: string };

/** One line without its end. Its pieces are plain text: a line break is shown as an escape. */
export type Line = string | readonly (string | Styled)[];

/** Prints lines of data. Standard output gets nothing else. Resolves when there is room for more. */
export function print(lines: readonly Line[]): Promise<void> {
  return putAll(inFull(lines, process.stdout));
}

/** Prints the start of a line whose rest follows later. */
export function printBeginning(line: Line): void {
  process.stdout.write(rendered(line, process.stdout));
}

/** Prints a value as indented JSON; integers keep all digits. */
export function printJson(value: unknown): void {
  void writeJson(`${prettyJson(value)}\n`);
}

/** JSON on one line; integers keep all digits. */
export function exactJson(value: unknown): string {
  return JSON.stringify(value, exactly);
}

export function prettyJson(value: unknown): string {
  return JSON.stringify(value, exactly, 2);
}

function exactly(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;
}

/**
 * Writes JSON text, or part of one, unchanged; on a terminal, control characters become JSON escapes, which are the
 * same data. Line feeds between values stay. Resolves when there is room for more.
 */
export function writeJson(text: string): Promise<void> {
  return putAll(isTerminal(process.stdout) ? safeJson(text) : text);
}

/** Writes whole CSV rows the same way; CSV has no escapes, so a terminal gets those of a line. */
export function writeCsv(text: string): Promise<void> {
  return putAll(isTerminal(process.stdout) ? safeCsv(text) : text);
}

/** Set by `--quiet`. Global, like standard error. */
let quiet = false;

/** Whether to print only failures and what cannot be learnt later. */
export function beQuiet(wanted: boolean): void {
  quiet = wanted;
}

export function isQuiet(): boolean {
  return quiet;
}

/** Tells a person something, unless `--quiet` is set. */
export function say(...lines: readonly Line[]): void {
  if (!quiet) insist(...lines);
}

/** Tells a person what they need even with `--quiet`: a failure, a question, or what is shown only once. */
export function insist(...lines: readonly Line[]): void {
  process.stderr.write(inFull(lines, process.stderr));
}

/** Echoes what a person types at a question, and cursor movements: for `readline` only. */
export function echo(typed: Buffer): void {
  process.stderr.write(typed);
}

export function isOutputShown(): boolean {
  return isTerminal(process.stdout);
}

export function canAsk(): boolean {
  return isTerminal(process.stdin) && isTerminal(process.stderr);
}

export function isWatched(): boolean {
  return isTerminal(process.stderr) && !quiet && process.env.TERM !== 'dumb';
}

/** The width of the terminal behind standard output or standard error; 80 without one. */
export function columnsOf(stream: 'output' | 'said'): number {
  return (stream === 'output' ? process.stdout : process.stderr).columns || 80;
}

/**
 * Replaces the current line on standard error, if it is a terminal and somebody wants to watch. Cuts the text to the
 * terminal's width: a wider line could not be replaced.
 */
export function replaceLine(text: string): void {
  if (!isWatched()) return;
  cursorTo(process.stderr, 0);
  clearLine(process.stderr, 0);
  process.stderr.write(visible(text).slice(0, columnsOf('said') - 1));
}

/**
 * A reader may stop early (`plant-store token list | head -1`); that is not a failure. Any other write error on standard
 * output, such as a full disk, ends the process, because its output has nowhere to go. A message that cannot be written
 * ends nothing: a service outlives the terminal, or the space, of its messages.
 */
export function ignoreBrokenPipes(): void {
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    insist(`error: Standard output cannot be written: ${systemReasonOrCode(error)}.`);
    process.exit(1);
  });
}

/** Aborted when a write shows that nobody reads standard output any more. */
export function outputAbandoned(): AbortSignal {
  const abandoned = new AbortController();
  process.stdout.once('error', () => abandoned.abort());
  return abandoned.signal;
}

/** Control, format and separator characters, except the two that join letters and emoji. */
const INVISIBLE = /[[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]--[\u200c\u200d]]/gv;

/** Escapes characters that would move the cursor, reverse the text or hide in it: `\u{1b}`. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Escapes control characters in JSON; valid JSON has them only in strings. */
export function safeJson(text: string): string {
  return text.replace(INVISIBLE, (character) => (character === '\n' ? character : jsonEscape(character)));
}

function jsonEscape(character: string): string {
  return character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** CSV likewise, including line feeds in quotes, which would look like the end of the row. */
export function safeCsv(text: string): string {
  return text.replace(/"[^"]*"|[^"\n]+/g, visible);
}

/** `1 row`, `2 rows` */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Quotes text as one word of a POSIX shell. */
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

/** The stream reports a failure itself, a moment later. */
function putAll(text: string): Promise<void> {
  return new Promise((resolve) =>
    process.stdout.write(text, (error) => (error ? setImmediate(resolve) : resolve())),
  );
}
