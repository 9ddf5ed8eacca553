import { hash } from 'node:crypto';

/** A secret, with a name that a failing test may show. */
export type Canary = { name: string; text: string };

/** Returns the names of secrets that a text reveals. */
export type Search = (text: string) => string[];

/** Finds secrets in plain text, in parts, encoded, and hashed. */
export function searchFor(canaries: readonly Canary[]): Search {
  return search(canaries, ({ text }) => [...encodingsOf(text), ...hashesOf(text)]);
}

/** Like `searchFor`, but ignores hashes, which a store may contain. */
export function searchForTexts(canaries: readonly Canary[]): Search {
  return search(canaries, ({ text }) => encodingsOf(text));
}

/** Searches for pieces of this length, one every so many characters of a secret. */
const PIECE = 12;
const STRIDE = 4;

function search(canaries: readonly Canary[], formsOf: (canary: Canary) => string[]): Search {
  const names = new Map<string, string>();
  for (const canary of canaries) {
    for (const form of formsOf(canary)) {
      for (let at = 0; at + PIECE <= form.length; at += STRIDE) {
        names.set(form.slice(at, at + PIECE), canary.name);
      }
    }
  }
  return (text) => {
    const found = new Set<string>();
    for (let at = 0; at + PIECE <= text.length; at++) {
      const name = names.get(text.slice(at, at + PIECE));
      if (name !== undefined) found.add(name);
    }
    return [...found].sort();
  };
}

/** Prefixes that all secrets of a kind share. */
const BEGINNING = /^(?:pst_|whsec_|whsk_|eyJ[\w-]*\.)/;

function encodingsOf(text: string): string[] {
  const own = text.replace(BEGINNING, '');
  const hex = Buffer.from(own).toString('hex');
  // A text's base64 depends on its offset.
  const base64 = [0, 1, 2].flatMap((skipped) => {
    const bytes = Buffer.from(own.slice(skipped));
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 3));
    return [whole.toString('base64'), whole.toString('base64url')];
  });
  return [own, encodeURIComponent(own), hex, hex.toUpperCase(), ...base64];
}

function hashesOf(text: string): string[] {
  return (['hex', 'base64', 'base64url'] as const).map((encoding) => hash('sha256', text, encoding));
}
