import { AppError } from '../../errors.ts';
import { canonicalId } from '../../plants/plant.ts';

const CANONICAL_COUNT = /^[1-9]\d*$/;

/**
 * Reads the query of a URL strictly: repeated parameters, unreadable escapes and parts without a name are errors. It
 * converts ids, numbers and lists as their schema says, for validation. A list is separated by commas, repeats its
 * parameter, or both. What cannot be converted stays text, which the schema then refuses.
 * @throws AppError 40003
 */
export function parseQuery(
  search: string,
  schemas: Record<string, { [keyword: string]: unknown }>,
): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  if (search === '') return query;
  for (const part of search.split('&')) {
    const equals = part.indexOf('=');
    const name = decode(equals === -1 ? part : part.slice(0, equals));
    const text = equals === -1 ? '' : decode(part.slice(equals + 1));
    if (name === '') throw new AppError(40003, 'The query has a parameter without a name.');
    const before = Object.hasOwn(query, name) ? query[name] : undefined;
    if (before !== undefined && !Array.isArray(before)) {
      throw new AppError(40003, `The query parameter ${quote(name)} is given more than once.`);
    }
    // Assigning it would set the prototype and bypass the check for unknown names.
    if (name === '__proto__') throw new AppError(40003, 'The query parameter "__proto__" is unknown.');
    const value = convert(text, schemas[name]);
    query[name] = Array.isArray(before) ? before.concat(value) : value;
  }
  return query;
}

function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw new AppError(40003, 'The query has an escape that is not valid percent-encoded UTF-8.', { cause });
  }
}

function convert(text: string, schema: { [keyword: string]: unknown } | undefined): unknown {
  if (schema?.format === 'int64') return canonicalId(text) ?? text;
  if (schema?.type === 'integer') return CANONICAL_COUNT.test(text) ? Number(text) : text;
  if (schema?.type === 'array') return text.split(',');
  return text;
}

/** Longer names are cut: enough for every name the service knows, too short for a token sent by mistake. */
const LONGEST = 24;

/** A name that the client chose, as messages show it. */
export function quote(name: string): string {
  return JSON.stringify(name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name);
}
