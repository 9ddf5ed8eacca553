import type { Schema } from './samples.ts';

type Schemas = ReadonlyMap<string, Schema>;

const HEAD = `// Made by "npm run docs" from the OpenAPI document. Change the schemas in src/, not this.

import type { Int64, Int64Input } from './json.ts';
`;

/** Types of no use to a client: the body of a failure, an empty one, and a plant without its id. */
const LEFT_OUT = ['Error', 'EmptyInput', 'Plant'];
/** Browsers have a type `Event`. */
const RENAMED: Readonly<Record<string, string>> = { Event: 'PlantEvent' };
const WIDTH = 110;

/** Generates `packages/client/src/schemas.ts`: the document's schemas as types, in the same order, with their descriptions. */
export function clientSchemas(document: object): string {
  // `openapiDocument` returns an OpenAPI document whose schemas consist of these parts.
  const { schemas } = (document as { components: { schemas: Record<string, Schema> } }).components;
  const wanted = new Map(Object.entries(schemas).filter(([name]) => !LEFT_OUT.includes(name)));
  return [HEAD, ...[...wanted].map(([name, schema]) => declaration(name, schema, wanted))].join('\n');
}

function declaration(name: string, schema: Schema, all: Schemas): string {
  const base = [...all].find(
    ([other, { properties }]) => other !== name && properties && isBase(all.get(other), schema),
  );
  const type = base ? `${nameOf(base[0])} & ${typeOf(without(schema, base[1]))}` : typeOf(schema);
  const line = `export type ${nameOf(name)} = ${type};\n`;
  const isLong = schema.enum !== undefined && line.length > WIDTH;
  const values = schema.enum?.map((value) => `\n  | '${value}'`).join('');
  return comment(schema.description, '') + (isLong ? `export type ${nameOf(name)} =${values};\n` : line);
}

/** Whether the other schema has all of its members unchanged. */
function isBase(schema: Schema | undefined, other: Schema): boolean {
  const members = Object.entries(schema?.properties ?? {});
  return (
    schema?.additionalProperties === other.additionalProperties &&
    members.length > 0 &&
    members.length < Object.keys(other.properties ?? {}).length &&
    members.every(
      ([name, member]) =>
        JSON.stringify(member) === JSON.stringify(other.properties?.[name]) &&
        schema?.required?.includes(name) === other.required?.includes(name),
    )
  );
}

function without(schema: Schema, base: Schema): Schema {
  const members = Object.entries(schema.properties ?? {}).filter(([name]) => !base.properties?.[name]);
  return { ...schema, properties: Object.fromEntries(members) };
}

function nameOf(name: string): string {
  return RENAMED[name] ?? name;
}

/** @param isInput whether a client sends it: such an object allows no other members */
function typeOf(schema: Schema, indent = '', isInput = schema.additionalProperties === false): string {
  if (schema.$ref) return nameOf(schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1));
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ');
  return [schema.type ?? []]
    .flat()
    .map((type) => typeNamed(type, schema, indent, isInput))
    .join(' | ');
}

function typeNamed(type: string, schema: Schema, indent: string, isInput: boolean): string {
  switch (type) {
    case 'integer':
      if (schema.format !== 'int64') return 'number';
      return isInput ? 'Int64Input' : 'Int64';
    case 'array':
      return `${typeOf(schema.items ?? {}, indent, isInput)}[]`;
    case 'object':
      return objectType(schema, indent, isInput);
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    default:
      throw new Error(`The generator of the client's types does not know the type ${type}.`);
  }
}

function objectType({ properties = {}, required = [] }: Schema, indent: string, isInput: boolean): string {
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([name, member]) => {
    const type = typeOf(member, inner, isInput);
    const line = required.includes(name)
      ? `${name}: ${type}`
      : `${name}?: ${type}${isInput ? ' | undefined' : ''}`;
    return `${comment(member.description, inner)}${inner}${line};\n`;
  });
  return `{\n${members.join('')}${indent}}`;
}

function comment(text: string | undefined, indent: string): string {
  if (text === undefined) return '';
  if (indent.length + text.length + 7 <= WIDTH) return `${indent}/** ${text} */\n`;
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || indent.length + last.length + word.length + 4 > WIDTH) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}
