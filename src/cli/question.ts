import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { say } from './terminal.ts';

/** Ends the program with 2 when nobody can be asked. For what cannot be undone, before anything else is done. */
export function refuseWithoutTerminal(command: Command): void {
  if (process.stdin.isTTY && process.stderr.isTTY) return;
  command.error('error: there is no terminal to ask on; --yes deletes without asking', { exitCode: 2 });
}

/** The answer, trimmed; the empty text when the person ends the input (Ctrl+D) or interrupts (Ctrl+C). */
export async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = once(terminal, 'close').then(() => undefined);
  const answer = await Promise.race([terminal.question(question), closed]).catch(() => undefined);
  terminal.close();
  // Nobody has ended the line of the question.
  if (answer === undefined) say('');
  return answer?.trim() ?? '';
}
