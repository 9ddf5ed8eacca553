/** One word for a POSIX shell, quoted where it has to be. */
export function quoted(text: string): string {
  return /^[\w.@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
