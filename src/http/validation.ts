import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { AppError } from '../errors.ts';
import { parseQuery } from './query.ts';

/** A JSON Schema as plain data. */
type Schema = { [keyword: string]: unknown };

/**
 * Checks requests against the schemas that the OpenAPI document shows. A refusal names the member or the
 * parameter, and its rule, which is the schema's description.
 */
export function createValidatorCompiler(shared: readonly TSchema[]): FastifySchemaCompiler<Schema> {
  const byId = new Map(shared.map((schema) => [String((schema as Schema).$id), schema as Schema]));
  const resolve = (schema: Schema) => byId.get(String(schema.$ref)) ?? schema;

  return ({ schema, httpPart }) => {
    if (httpPart === 'querystring') return queryValidator(resolve(schema));
    if (httpPart === 'body') return bodyValidator(resolve(schema));
    // Path parameters are read by the rule of their noun, headers by the request guard.
    return (value: unknown) => ({ value });
  };
}

function bodyValidator(schema: Schema) {
  const validator = Compile(asRead(schema) as TSchema);
  return (body: unknown) => {
    if (validator.Check(body)) return { value: body };
    if (body === undefined) throw new AppError(40001, 'The body is empty; it must be a JSON object.');
    throw new AppError(40002, explain('member', schema, validator.Errors(body)[0]));
  };
}

function queryValidator(schema: Schema) {
  const validator = Compile(schema as TSchema);
  const properties = propertiesOf(schema);
  return (search: unknown) => {
    const value = parseQuery(String(search), properties);
    if (validator.Check(value)) return { value };
    throw new AppError(40003, explain('query parameter', schema, validator.Errors(value)[0]));
  };
}

/** The JSON reader gives 64-bit integers as bigint: to the document they are integers of the format int64. */
function asRead(schema: Schema): Schema {
  if (schema.type === 'integer' && schema.format === 'int64') return { type: 'bigint' };
  const properties = propertiesOf(schema);
  if (Object.keys(properties).length === 0) return schema;
  const read = Object.entries(properties).map(([name, member]) => [name, asRead(member)]);
  return { ...schema, properties: Object.fromEntries(read) };
}

export function propertiesOf(schema: Schema): Record<string, Schema> {
  // `properties` of a JSON Schema is an object of schemas.
  return (schema.properties ?? {}) as Record<string, Schema>;
}

type Violation = ReturnType<ReturnType<typeof Compile>['Errors']>[number];

function explain(noun: string, schema: Schema, violation: Violation | undefined): string {
  if (!violation || (violation.instancePath === '' && violation.keyword === 'type')) {
    return 'The body must be a JSON object.';
  }
  const properties = propertiesOf(schema);
  if (violation.keyword === 'required') {
    const [name = ''] = violation.params.requiredProperties;
    return `The ${noun} ${quote(name)} is missing; it must be ${properties[name]?.description}.`;
  }
  const name = nameOf(violation);
  const rule = properties[name]?.description;
  if (rule !== undefined) return `The ${noun} ${quote(name)} must be ${rule}.`;
  const known = Object.keys(properties).map(quote).join(', ');
  return `The ${noun} ${quote(name)} is unknown; ${known ? `known are ${known}` : 'none is expected'}.`;
}

function nameOf(violation: Violation): string {
  if (violation.keyword === 'additionalProperties') return violation.params.additionalProperties[0] ?? '';
  const [name = ''] = violation.instancePath.slice(1).split('/');
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** A name that the client chose, cut so that the answer stays short. */
function quote(name: string): string {
  return JSON.stringify(name.length > 64 ? `${name.slice(0, 64)}…` : name);
}
