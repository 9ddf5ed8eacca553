/** The part of the help that shows how a verb is used. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ plant-store ${line}`).join('\n')}`;
}
