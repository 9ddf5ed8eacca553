export type VerbCall = { args: readonly string[]; env: Readonly<Record<string, string>> };

/** Runs a verb with its own environment, where others run before and after it. Returns its exit code. */
export async function runVerb(
  main: (args: readonly string[]) => Promise<void>,
  { args, env }: VerbCall,
): Promise<number> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  await main(args);
  const code = Number(process.exitCode ?? 0);
  process.exitCode = undefined;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.removeAllListeners(signal);
  return code;
}
