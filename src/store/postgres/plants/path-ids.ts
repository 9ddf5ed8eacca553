/** PostgreSQL rejects text with a NUL, so no id contains one: such an id becomes NULL, which equals nothing. */
export function pathId(text: string): string | null {
  return text.includes('\0') ? null : text;
}
