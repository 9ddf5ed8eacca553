import { runVerb, type VerbCall } from '../../testkit/processes/verb.ts';

/**
 * A process on a terminal that has loaded the program and runs one verb after another, each as a program of its own
 * would: with its own environment. `on-terminal.ts` starts it.
 */

/** @param end printed after the verb */
export type TerminalCall = VerbCall & { end: string };

const { main } = await import(process.argv[2] ?? '');
process.on('disconnect', () => process.exit());
process.on('message', async ({ end, ...call }: TerminalCall) => {
  await runVerb(main, call);
  // Each verb adds one, and Node warns on standard error of more than ten.
  for (const output of [process.stdout, process.stderr]) output.removeAllListeners('error');
  process.stdout.write(end);
});
