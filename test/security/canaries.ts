import { hash } from 'node:crypto';

/** A secret by a name that a failing test may show. */
export type Canary = { name: string; text: string };

/** The names of the secrets that a text gives away. */
export type Search = (text: string) => string[];

/** Finds secrets in clear, in parts, encoded, and as hashes. */
export function searchFor(canaries: readonly Canary[]): Search {
  return search(canaries, ({ text }) => [...encodingsOf(text), ...hashesOf(text)]);
}

/** As `searchFor`, but a hash gives nothing away: for what a store may hold. */
export function searchForTexts(canaries: readonly Canary[]): Search {
  return search(canaries, ({ text }) => encodingsOf(text));
}

/** What is looked for are pieces of this length, one at every so many characters of a secret. */
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

/** What does not tell one secret from another: how all of its kind begin. */
const BEGINNING = /^(?:pst_|whsec_|whsk_|eyJ[\w-]*\.)/;

function encodingsOf(text: string): string[] {
  const own = text.replace(BEGINNING, '');
  const hex = Buffer.from(own).toString('hex');
  // What base64 makes of a text depends on where in the whole it stands.
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
