/**
 * An id from a path, as the value of a parameter that is compared with ids. PostgreSQL refuses a text with a NUL, so
 * none of its rows has one: such an id becomes NULL, which equals nothing.
 */
export function pathId(text: string): string | null {
  return text.includes('\0') ? null : text;
}
