import { AppError } from '../../errors.ts';

const CANONICAL_COUNT = /^[1-9]\d*$/;

/**
 * Reads the query of a URL strictly: a parameter that is given twice, an escape that cannot be read and a
 * part without a name are errors. Numbers and comma-separated lists are turned into what their schema says,
 * so that the schema can judge them; what cannot be turned stays text, which the schema then refuses.
 *
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
    if (Object.hasOwn(query, name)) {
      throw new AppError(40003, `The query parameter ${quote(name)} is given more than once.`);
    }
    // Assigned like another, this one would become the prototype and escape the check for unknown ones.
    if (name === '__proto__') throw new AppError(40003, 'The query parameter "__proto__" is unknown.');
    query[name] = convert(text, schemas[name]);
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
  if (schema?.type === 'integer') return CANONICAL_COUNT.test(text) ? Number(text) : text;
  if (schema?.type === 'array') return text.split(',');
  return text;
}

/** A longer name is cut: room for every name that the service knows, and for no token that was put in its place. */
const LONGEST = 24;

/** A name that the client chose, as a message shows it. */
export function quote(name: string): string {
  return JSON.stringify(name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name);
}
