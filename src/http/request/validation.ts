import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { AppError } from '../../errors.ts';
import { parseJson } from '../../json/json.ts';
import { canonicalId } from '../../plants/plant.ts';
import type { Schema } from '../routes/operation.ts';

/**
 * Validates requests against the schemas in the OpenAPI document. An error names the member or parameter and its
 * rule, which is the schema's description.
 */
export function createValidatorCompiler(): FastifySchemaCompiler<Schema> {
  const ajv = createAjv();
  return ({ schema, httpPart }) =>
    httpPart === 'querystring' ? queryValidator(ajv, schema) : bodyValidator(ajv, schema);
}

/** Lengths are in code points and patterns are Unicode, as Ajv does by default. */
function createAjv(): Ajv {
  return new Ajv({
    strict: true,
    // Tests check the schemas against their meta-schema; compiling it here would slow every start.
    meta: false,
    validateSchema: false,
    // Two operations may share a schema.
    addUsedSchema: false,
    // Formats are documentation; other keywords define the valid values.
    validateFormats: false,
    messages: false,
    keywords: [
      // Written by `asRead`.
      { keyword: 'bigint', validate: (_: true, value: unknown) => typeof value === 'bigint', errors: false },
      {
        keyword: 'wellFormed',
        type: 'string',
        validate: (_: true, text: string) => text.isWellFormed(),
        errors: false,
      },
    ],
  });
}

function bodyValidator(ajv: Ajv, schema: Schema) {
  const compiled = compileOnUse(ajv, schema);
  const members = Object.entries(propertiesOf(schema));
  const numbers = members.filter(([, member]) => isNumber(member)).map(([name]) => name);
  /** @param bytes null for an absent body */
  return (bytes: Buffer | null) => {
    const value = bytes === null ? schema.default : parseJson(bytes);
    if (value === undefined) throw new AppError(40001, 'The body is empty; it must be a JSON object.');
    if (numbers.length > 0) readNumbers(value, numbers);
    const check = compiled();
    if (check(value)) return { value };
    throw new AppError(40002, explain('member', schema, check.errors));
  };
}

/** Compiling all schemas would take an eighth of every start. */
function compileOnUse(ajv: Ajv, schema: Schema): () => ValidateFunction {
  let check: ValidateFunction | undefined;
  return () => (check ??= ajv.compile(asRead(schema)));
}

/** An integer that fits a JS number: any that is not int64. */
function isNumber({ type, format }: Schema): boolean {
  return [type].flat().includes('integer') && format !== 'int64';
}

/**
 * The JSON reader returns integers as bigint. A bigint too large for a JS number stays too large for its member. A JS
 * number is not an integer, although the nearest double may look like one.
 */
function readNumbers(body: unknown, names: string[]): void {
  if (typeof body !== 'object' || body === null) return;
  for (const name of names) {
    const value: unknown = Reflect.get(body, name);
    if (typeof value === 'bigint') Reflect.set(body, name, Number(value));
    else if (typeof value === 'number') Reflect.set(body, name, Number.NaN);
  }
}

function queryValidator(ajv: Ajv, schema: Schema) {
  const compiled = compileOnUse(ajv, schema);
  const properties = propertiesOf(schema);
  return (search: unknown) => {
    const value = parseQuery(String(search), properties);
    const check = compiled();
    if (check(value)) return { value };
    throw new AppError(40003, explain('query parameter', schema, check.errors));
  };
}

/**
 * Reads the query of a URL strictly: repeated parameters, unreadable escapes and parts without a name are errors. It
 * converts ids, numbers and lists as their schema says, for validation. A list is separated by commas, repeats its
 * parameter, or both. What cannot be converted stays text, which the schema then refuses.
 * @throws AppError 40003
 */
function parseQuery(search: string, schemas: Record<string, Schema>): Record<string, unknown> {
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

const CANONICAL_COUNT = /^[1-9]\d*$/;

function convert(text: string, schema: Schema | undefined): unknown {
  if (schema?.format === 'int64') return canonicalId(text) ?? text;
  if (schema?.type === 'integer') return CANONICAL_COUNT.test(text) ? Number(text) : text;
  if (schema?.type === 'array') return text.split(',');
  return text;
}

/**
 * What the JSON reader returns as bigint, the document calls an integer of format int64. It passes lone surrogates,
 * which SQLite would change and PostgreSQL rejects.
 */
function asRead(schema: Schema): Schema {
  if (schema.type === 'integer' && schema.format === 'int64') return { bigint: true };
  if (schema.pattern !== undefined) return { ...schema, wellFormed: true };
  const properties = propertiesOf(schema);
  if (Object.keys(properties).length === 0) return schema;
  const read = Object.entries(properties).map(([name, member]) => [name, asRead(member)]);
  return { ...schema, properties: Object.fromEntries(read) };
}

function propertiesOf(schema: Schema): Record<string, Schema> {
  // `properties` of a JSON Schema is an object of schemas.
  return (schema.properties ?? {}) as Record<string, Schema>;
}

function explain(noun: string, schema: Schema, errors: ErrorObject[] | null | undefined): string {
  const violation = errors?.[0];
  if (!violation || (violation.instancePath === '' && violation.keyword === 'type')) {
    return 'The body must be a JSON object.';
  }
  const properties = propertiesOf(schema);
  const name = nameOf(violation);
  const rule = properties[name]?.description;
  if (violation.keyword === 'required') {
    return `The ${noun} ${quote(name)} is missing; it must be ${rule}.`;
  }
  if (rule !== undefined) return `The ${noun} ${quote(name)} must be ${rule}.`;
  const known = Object.keys(properties).map(quote).join(', ');
  return `The ${noun} ${quote(name)} is unknown; ${known ? `use ${known}` : 'none is allowed'}.`;
}

function nameOf({ params, instancePath }: ErrorObject): string {
  // No schema has a name that a JSON Pointer escapes.
  return params.missingProperty ?? params.additionalProperty ?? instancePath.split('/')[1] ?? '';
}

/** Longer names are cut: enough for every name the service knows, too short for a token sent by mistake. */
const LONGEST = 24;

/** A name that the client chose, as messages show it. */
function quote(name: string): string {
  return JSON.stringify(name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name);
}
