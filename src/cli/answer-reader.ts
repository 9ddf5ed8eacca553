import { Failure } from './failure.ts';
import type { JsonValue } from './json.ts';

/** The members of an object out of an answer, by the type that they must have. Each throws a `Failure`. */
export type Members = {
  text(name: string): string;
  optionalText(name: string): string | undefined;
  /** An integer that a JS number holds exactly. */
  count(name: string): number;
  optionalCount(name: string): number | undefined;
  /** An integer of 64 bits. */
  integer(name: string): bigint;
  members(name: string): Members;
  list(name: string): Members[];
};

/** Throws a `Failure` for what is not an object. */
export function membersOf(value: JsonValue | undefined, what = 'It'): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw unexpected(what, 'an object');
  const object = value;
  const at = (name: string) => `Its "${name}"`;

  function optionalText(name: string): string | undefined {
    const member = object[name];
    if (member === undefined || typeof member === 'string') return member;
    throw unexpected(at(name), 'a string');
  }

  function optionalCount(name: string): number | undefined {
    const member = object[name];
    if (member === undefined) return undefined;
    const count = typeof member === 'bigint' ? Number(member) : Number.NaN;
    if (Number.isSafeInteger(count)) return count;
    throw unexpected(at(name), 'an integer');
  }

  return {
    optionalText,
    optionalCount,
    text: (name) => optionalText(name) ?? fail(at(name), 'a string'),
    count: (name) => optionalCount(name) ?? fail(at(name), 'an integer'),
    integer: (name) => {
      const member = object[name];
      return typeof member === 'bigint' ? member : fail(at(name), 'an integer of 64 bits');
    },
    members: (name) => membersOf(object[name], at(name)),
    list: (name) => listOf(object[name], at(name)),
  };
}

/** The objects of an array. Throws a `Failure` for anything else. */
export function listOf(value: JsonValue | undefined, what = 'It'): Members[] {
  if (!Array.isArray(value)) throw unexpected(what, 'an array');
  return value.map((item) => membersOf(item, `An item of it`));
}

function fail(what: string, expected: string): never {
  throw unexpected(what, expected);
}

function unexpected(what: string, expected: string): Failure {
  return new Failure(
    `The answer is not one that this version of plant-store knows. ${what} is not ${expected}.`,
  );
}
