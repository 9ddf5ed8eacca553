import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { insist } from './terminal.ts';

/** Ends the program with 2 when nobody can be asked. For what cannot be undone, before anything else is done. */
export function refuseWithoutTerminal(command: Command): void {
  if (process.stdin.isTTY && process.stderr.isTTY) return;
  command.error('error: there is no terminal to ask on; --yes deletes without asking', { exitCode: 2 });
}

/** The answer, trimmed; the empty text when the person ends the input (Ctrl+D) or interrupts (Ctrl+C). */
export function ask(question: string): Promise<string> {
  return answerTo(question, process.stderr);
}

/** The same for a secret: what is typed is not shown. */
export async function askHidden(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const answer = await answerTo(question, nowhere);
  // Enter was not shown either.
  if (answer !== '') insist('');
  return answer;
}

async function answerTo(question: string, output: NodeJS.WritableStream): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  const closed = once(terminal, 'close').then(() => undefined);
  // From here on the terminal itself shows nothing of what is typed.
  if (output !== process.stderr) process.stderr.write(question);
  const answer = await Promise.race([terminal.question(question), closed]).catch(() => undefined);
  terminal.close();
  // Nobody has ended the line of the question.
  if (answer === undefined) insist('');
  return answer?.trim() ?? '';
}
