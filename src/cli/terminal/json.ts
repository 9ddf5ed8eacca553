declare global {
  interface JSON {
    /** ECMAScript 2026, in Node since 22; TypeScript's library does not declare it. */
    rawJSON(text: string): object;
  }
}

/** The value as JSON on one line, every integer with all of its digits. */
export function exactJson(value: unknown): string {
  return JSON.stringify(value, exactly);
}

export function prettyJson(value: unknown): string {
  return JSON.stringify(value, exactly, 2);
}

function exactly(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;
}
