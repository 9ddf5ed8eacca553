import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Misuse } from '../failure.ts';
import { canAsk, columnsOf, echo, insist } from './terminal.ts';

/** Throws when nobody can be asked. Call it first in verbs that cannot be undone. */
export function refuseWithoutTerminal(): void {
  if (!canAsk()) throw new Misuse('no terminal to ask on; --yes deletes without asking');
}

/** The answer, trimmed; empty when the person ends the input (Ctrl+D) or interrupts (Ctrl+C). */
export async function ask(question: string): Promise<string> {
  using questions = startQuestions();
  return (await questions.ask(question)) ?? '';
}

/**
 * Asks one question after another. Text typed or pasted ahead answers the next one, and is not shown before it. Until
 * its disposal, the terminal itself does not echo.
 */
export function startQuestions() {
  let isShown = false;
  let isClosed = false;
  const shown = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (isShown) echo(chunk);
      done();
    },
  });
  // Lets a long answer wrap.
  const output = Object.assign(shown, { columns: columnsOf('said') });
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  const lines = terminal[Symbol.asyncIterator]();
  // At once: text pasted after the end of the line may be a secret.
  terminal.on('line', () => {
    isShown = false;
  });
  terminal.on('SIGINT', () => {
    process.exitCode = 128 + constants.signals.SIGINT;
    terminal.close();
  });
  terminal.on('close', () => {
    isClosed = true;
  });
  return {
    /**
     * The answer, trimmed; undefined when the person ends the input (Ctrl+D) or interrupts (Ctrl+C).
     * @param isHidden for a secret: hides what is typed
     */
    async ask(question: string, { isHidden = false } = {}): Promise<string | undefined> {
      isShown = !isHidden;
      if (isHidden) echo(Buffer.from(question));
      terminal.setPrompt(isHidden ? '' : question);
      if (!isClosed) terminal.prompt(true);
      const { value, done } = await lines.next();
      // The line of the question is still open.
      if (done || isHidden) insist('');
      return done ? undefined : value.trim();
    },
    [Symbol.dispose]: () => terminal.close(),
  };
}
