import { visible } from './terminal.ts';

/** What is written of a plant. */
export type PlantMembers = { id: bigint; name: string; tag: string | undefined; owner?: string | undefined };

/** One line of JSON, the id with all of its digits. A plant without a tag has no such member. */
export function plantJson({ id, name, tag, owner }: PlantMembers): string {
  return JSON.stringify({ id: JSON.rawJSON(String(id)), name, tag, owner });
}

/**
 * JSON as a terminal may have it: what it would obey is an escape of JSON, and so the same data. Elsewhere every
 * character stays. Line feeds stand between values, and stay, too.
 */
export function shownJson(json: string, stream: NodeJS.WriteStream): string {
  if (!stream.isTTY) return json;
  return json.replaceAll(/[^\n -~]/gu, (character) =>
    visible(character) === character ? character : escaped(character),
  );
}

function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
