import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Misuse } from '../failure.ts';
import { canAsk, columnsOf, echo, insist } from './terminal.ts';

/** Throws when nobody can be asked. For what cannot be undone, before anything else is done. */
export function refuseWithoutTerminal(): void {
  if (!canAsk()) throw new Misuse('there is no terminal to ask on; --yes deletes without asking');
}

/** The answer, trimmed; the empty text when the person ends the input (Ctrl+D) or interrupts (Ctrl+C). */
export async function ask(question: string): Promise<string> {
  const questions = startQuestions();
  const answer = await questions.ask(question);
  questions.close();
  return answer ?? '';
}

/** One question after another. What is typed or pasted ahead is the answer to the next, and is not shown before it. */
export type Questions = {
  /**
   * The answer, trimmed; undefined when the person ends the input (Ctrl+D) or interrupts (Ctrl+C).
   *
   * @param isHidden for a secret: what is typed is not shown
   */
  ask(question: string, options?: { isHidden?: boolean }): Promise<string | undefined>;
  close(): void;
};

/** From here to `close` the terminal itself shows nothing of what is typed. */
export function startQuestions(): Questions {
  let isShown = false;
  let isClosed = false;
  const shown = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (isShown) echo(chunk);
      done();
    },
  });
  // So that a long answer is shown over several lines.
  const output = Object.assign(shown, { columns: columnsOf('said') });
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  const lines = terminal[Symbol.asyncIterator]();
  // At once: what is pasted behind the end of the line may be a secret.
  terminal.on('line', () => {
    isShown = false;
  });
  terminal.on('close', () => {
    isClosed = true;
  });
  return {
    async ask(question, { isHidden = false } = {}) {
      isShown = !isHidden;
      if (isHidden) echo(Buffer.from(question));
      terminal.setPrompt(isHidden ? '' : question);
      if (!isClosed) terminal.prompt(true);
      const { value, done } = await lines.next();
      // Nobody has ended the line of the question.
      if (done || isHidden) insist('');
      return done ? undefined : value.trim();
    },
    close: () => terminal.close(),
  };
}
