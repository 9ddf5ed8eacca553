import { canonicalId, MAX_ID, MIN_ID, Name, Tag } from '../plants/plant.ts';
import type { CsvRecord } from './csv.ts';

/** The plant that a row describes. Without an id, the service assigns the next free one. */
export type Draft = { id?: bigint; name: string; tag?: string };

/** One row of a file: its line, and its plant or a sentence that says why it cannot be sent. */
export type Row = { line: number; draft: Draft } | { line: number; problem: string };

/** The columns of a table that hold a plant's members. */
export type Columns = {
  id: number | undefined;
  name: number;
  tag: number | undefined;
  /** The file's own columns, with their titles, in order: without those that an error report adds. */
  own: readonly { title: string; index: number }[];
  /** How many cells a row must have. */
  count: number;
};

/** The columns that an error report adds. A report can be imported again as it is. */
const REPORTED: readonly string[] = ['line', 'error'];
const MEMBERS: readonly string[] = ['id', 'name', 'tag'];
const KNOWN: readonly string[] = [...MEMBERS, ...REPORTED];

/** Reads the first row of a table, in any case. Throws an `Error` whose message is a sentence for a person. */
export function columnsOf(header: readonly string[]): Columns {
  // Also removes a byte order mark.
  const names = header.map((cell) => cell.trim());
  const titles = names.map((name) => name.toLowerCase());
  for (const [index, title] of titles.entries()) {
    if (!KNOWN.includes(title)) {
      throw new Error(`Column ${index + 1} is named ${shown(names[index] ?? title)}. ${HEADER_RULE}`);
    }
    if (titles.indexOf(title) < index) throw new Error(`The column "${title}" appears twice. ${HEADER_RULE}`);
  }
  const find = (title: string) => (titles.includes(title) ? titles.indexOf(title) : undefined);
  const name = find('name');
  if (name === undefined) throw new Error(`There is no column "name". ${HEADER_RULE}`);
  const own = titles
    .map((title, index) => ({ title, index }))
    .filter(({ title }) => !REPORTED.includes(title));
  return { id: find('id'), name, tag: find('tag'), own, count: titles.length };
}

const HEADER_RULE =
  'The first line must name the columns: name and, optionally, id and tag, in any order, such as: id,name,tag';

/**
 * Reads a row of a table and checks it against the rules of a plant. A name keeps its blanks; an empty id or tag counts
 * as absent.
 */
export function rowOf(columns: Columns, { line, cells, problem }: CsvRecord): Row {
  if (problem !== undefined) return { line, problem };
  if (cells.length !== columns.count) {
    return {
      line,
      problem: `The row has ${count(cells.length, 'cell')}, but the first line names ${count(columns.count, 'column')}. Put a value with a delimiter in double quotes.`,
    };
  }
  const cell = (index: number | undefined) => (index === undefined ? '' : (cells[index] ?? ''));
  const idText = cell(columns.id).trim();
  // The canonical form only: another program has rewritten numbers such as `007` or `9.2E+18`.
  const id = canonicalId(idText);
  if (id === undefined && idText !== '') return { line, problem: ID_RULE };
  const tag = cell(columns.tag);
  return rowFor({ name: cell(columns.name), tag: tag === '' ? undefined : tag, id }, line);
}

/**
 * Reads a row that is a JSON object and checks it against the rules of a plant. Like the service, it refuses a member
 * that is null.
 * @param value from a reader that reads integers as bigint; numbers are accepted while they are exact
 * @param line where the row begins, from 1
 */
export function rowOfJson(value: unknown, line: number): Row {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { line, problem: 'The row is not a JSON object, such as {"name":"Alder"}.' };
  }
  const unknown = Object.keys(value).find((member) => !MEMBERS.includes(member));
  if (unknown !== undefined) {
    return {
      line,
      problem: `The row has an unknown member ${shown(unknown)}. A plant has only name, id and tag.`,
    };
  }
  // Every member is checked before use.
  const { id: number, name, tag } = value as Record<string, unknown>;
  const id = typeof number === 'number' && Number.isSafeInteger(number) ? BigInt(number) : number;
  if (id !== undefined && (typeof id !== 'bigint' || id < MIN_ID || id > MAX_ID)) {
    return { line, problem: ID_RULE };
  }
  if (tag !== undefined && typeof tag !== 'string') return { line, problem: TAG_RULE };
  return rowFor({ name, tag, id }, line);
}

const NAME_RULE = `The name must be ${Name.description}.`;
const TAG_RULE = `The tag must be ${Tag.description}.`;
const ID_RULE = `The id must be a 64-bit integer (${MIN_ID} to ${MAX_ID}), written with digits only, such as 7 or -5.`;

const NAME_PATTERN = new RegExp(Name.pattern, 'u');
const TAG_PATTERN = new RegExp(Tag.pattern, 'u');

type Parts = { id: bigint | undefined; name: unknown; tag: string | undefined };

function rowFor({ id, name, tag }: Parts, line: number): Row {
  if (typeof name !== 'string' || !fits(name, Name.maxLength) || !NAME_PATTERN.test(name)) {
    return { line, problem: name === undefined || name === '' ? 'There is no name.' : NAME_RULE };
  }
  if (tag !== undefined && !(fits(tag, Tag.maxLength) && TAG_PATTERN.test(tag))) {
    return { line, problem: TAG_RULE };
  }
  const draft: Draft = { name };
  if (id !== undefined) draft.id = id;
  if (tag !== undefined) draft.tag = tag;
  return { line, draft };
}

/** Whether the text is well-formed and has at most this many code points, each of one or two UTF-16 units. */
function fits(text: string, codePoints: number): boolean {
  if (!text.isWellFormed()) return false;
  if (text.length <= codePoints) return true;
  return text.length <= 2 * codePoints && [...text].length <= codePoints;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** A name from the file, as messages show it. */
function shown(name: string): string {
  const LONGEST = 40;
  return JSON.stringify(name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name);
}

/**
 * The cells of a failed row, for the error report. A row with the wrong number of cells keeps a wrong number, so that
 * a report imported without repair does not turn it into a valid row.
 */
export function reportedCells({ own, count }: Columns, { cells, problem }: CsvRecord): readonly string[] {
  if (cells.length === count && problem === undefined) return own.map(({ index }) => cells[index] ?? '');
  return cells.length === own.length ? [...cells, ''] : cells;
}
