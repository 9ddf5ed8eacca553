import type { Operation, Schema as PlainSchema } from '../../src/http/routes/operation.ts';

/** The parts of a JSON Schema that the operations, and so the OpenAPI document, use. */
export type Schema = {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  enum?: readonly unknown[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean;
  description?: string;
  examples?: readonly unknown[];
};

const TIMES: Readonly<Record<string, string>> = {
  'date-time': '2026-11-21T08:00:00Z',
  date: '2026-11-21',
};

/** A value that fits a schema. Of an object it has the members that are always there; if none is, those with an example. */
export function sampleOf(schema: PlainSchema): unknown {
  const { type, format = '', items, properties = {}, required, examples, enum: values } = partsOf(schema);
  if (examples) return examples[0];
  if (values) return values[0];
  switch (type) {
    case 'object': {
      const names = required ?? Object.keys(properties).filter((name) => properties[name]?.examples);
      return Object.fromEntries(names.map((name) => [name, sampleOf(properties[name] ?? {})]));
    }
    case 'array':
      return [sampleOf(items ?? {})];
    case 'integer':
      return 0;
    case 'boolean':
      return true;
    default:
      return TIMES[format] ?? '…';
  }
}

/** A row for each member of an object or of the objects in an array, those inside included: name, type, description. */
export function memberRows(schema: PlainSchema, isInput: boolean, prefix = ''): string[][] {
  const { items, properties = {}, required = [] } = partsOf(schema);
  if (items) return memberRows(items, isInput, prefix === '' ? '' : `${prefix.slice(0, -1)}[].`);
  return Object.entries(properties).flatMap(([name, member]) => {
    const need = isInput && required.includes(name) ? ', required' : '';
    return [
      [`\`${prefix}${name}\``, typeOf(member) + need, member.description ?? ''],
      ...memberRows(member, isInput, `${prefix}${name}.`),
    ];
  });
}

export type Parameter = { name: string; place: 'path' | 'query' | 'header'; schema: Schema };

const KEY = {
  type: 'string',
  description: '[makes it safe to repeat the request](../../how-to/retry-safely.md)',
};

/** What a request has besides its body and the token. */
export function parametersOf({ method, path = {}, query = {}, headers = {} }: Operation): Parameter[] {
  const inHeader = method === 'POST' ? { ...headers, 'Idempotency-Key': KEY } : headers;
  const places = { path, query, header: inHeader };
  return (['path', 'query', 'header'] as const).flatMap((place) =>
    Object.entries(places[place]).map(([name, schema]) => ({ name, place, schema })),
  );
}

export function typeOf(schema: PlainSchema): string {
  const { type, items, format, enum: values } = partsOf(schema);
  if (values) return values.map((value) => `\`${value}\``).join(', ');
  if (items) return `array of ${items.enum ? 'strings' : `${typeOf(items)}s`}`;
  return format && format !== 'int64' ? format : [type].flat().join(' or ');
}

function partsOf(schema: PlainSchema): Schema {
  // The schemas of the operations consist of these parts.
  return schema as Schema;
}
