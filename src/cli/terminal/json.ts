declare global {
  interface JSON {
    /** ECMAScript 2026, in Node since 22; missing from TypeScript's library. */
    rawJSON(text: string): object;
  }
}

/** JSON on one line; integers keep all digits. */
export function exactJson(value: unknown): string {
  return JSON.stringify(value, exactly);
}

export function prettyJson(value: unknown): string {
  return JSON.stringify(value, exactly, 2);
}

function exactly(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;
}
