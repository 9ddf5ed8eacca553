import { type JsonValue, parseJson } from '../http/json.ts';

export type { JsonValue };

declare global {
  interface JSON {
    /** ECMAScript 2026, in Node since 22; TypeScript's library does not declare it. */
    rawJSON(text: string): object;
  }
}

/** Reads JSON without losing a digit: 64-bit integers are bigints. Undefined for what is not JSON. */
export function readJson(text: string | Buffer): JsonValue | undefined {
  try {
    return parseJson(typeof text === 'string' ? Buffer.from(text) : text);
  } catch {
    return undefined;
  }
}

/** The value as indented JSON, every integer with all of its digits. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value, exactly, 2);
}

function exactly(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;
}
