import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Scope } from '../../src/access/scopes.ts';

/** The parts of JSON Schema that the document uses. */
export type Schema = {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  required?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  items?: Schema;
  additionalProperties?: boolean;
};

export type Parameter = { name: string; in: 'path' | 'query' | 'header'; schema: Schema };

export type Operation = {
  id: string;
  /** Upper case. */
  method: string;
  /** With parameter names in braces. */
  path: string;
  /** Undefined when any token is enough. */
  scope: Scope | undefined;
  parameters: readonly Parameter[];
  body: { name: string; schema: Schema; isRequired: boolean } | undefined;
  responses: Readonly<Record<string, Described>>;
};

/** What the document says about the answers of one status. */
export type Described = {
  headers: readonly string[];
  type: string | undefined;
  isValid: ValidateFunction | undefined;
};

/** The parts of the document in use. */
type Document = {
  paths: Record<string, Record<string, DocumentOperation>>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Response>;
  };
};
type DocumentOperation = {
  operationId: string;
  parameters?: (Parameter | Reference)[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, Response | Reference>;
};
type Response = { headers?: object; content?: Content };
type Reference = { $ref: string };
type Content = Record<string, { schema: Schema }>;

/** Reads the service's OpenAPI document. */
export function readDocument(text: string): Operation[] {
  // Tests of the document itself check its shape.
  const document = JSON.parse(text) as Document;
  const { components } = document;
  const { schemas } = components;
  const ajv = new Ajv2020({
    strict: true,
    formats: {
      int64: true,
      date: /^\d{4}-\d\d-\d\d$/,
      'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/,
    },
  });
  const compiled = new Map<string, ValidateFunction>();
  /** Once for all responses with this schema: compiling takes far longer than reading. */
  function compile(schema: Schema): ValidateFunction {
    const key = JSON.stringify(schema);
    const known = compiled.get(key) ?? ajv.compile(closed(resolved(schema, schemas)));
    compiled.set(key, known);
    return known;
  }
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) =>
      operationOf(method.toUpperCase(), path, described, { components, compile }),
    ),
  );
}

type Context = { components: Document['components']; compile(schema: Schema): ValidateFunction };

/** Contract, section 2. */
function scopeOf(method: string, path: string): Scope | undefined {
  if (path === '/me') return undefined;
  const noun = path.startsWith('/plants') ? 'plants' : path.startsWith('/tokens') ? 'tokens' : 'webhooks';
  return `${noun}:${method === 'GET' ? 'read' : 'write'}`;
}

function operationOf(
  method: string,
  path: string,
  { operationId, parameters = [], requestBody, responses }: DocumentOperation,
  { components, compile }: Context,
): Operation {
  const body = requestBody?.content['application/json']?.schema;
  return {
    id: operationId,
    method,
    path,
    scope: scopeOf(method, path),
    parameters: parameters.map((parameter) => found(parameter, components.parameters)),
    body: body && {
      name: body.$ref?.split('/').at(-1) ?? '',
      schema: resolved(body, components.schemas),
      isRequired: requestBody?.required !== false,
    },
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => {
        const { headers = {}, content = {} } = found(response, components.responses);
        const [[type, described] = []] = Object.entries(content);
        const names = Object.keys(headers).map((name) => name.toLowerCase());
        return [status, { headers: names, type, isValid: described && compile(described.schema) }];
      }),
    ),
  };
}

/** Follows a reference to a component; returns anything else unchanged. */
function found<Part extends object>(part: Part | Reference, components: Record<string, Part>): Part {
  if (!('$ref' in part)) return part;
  const name = part.$ref.split('/').at(-1) ?? '';
  const component = components[name];
  if (!component) throw new Error(`The document refers to ${part.$ref}, which it does not have.`);
  return component;
}

/** A schema with its references resolved. */
function resolved(schema: Schema, schemas: Record<string, Schema>): Schema {
  return mapped(schema, (part) => {
    const name = part.$ref?.split('/').at(-1);
    const referred = name === undefined ? undefined : schemas[name];
    return referred ? resolved(referred, schemas) : part;
  });
}

/** Makes unknown members in answers an error. */
function closed(schema: Schema): Schema {
  return mapped(schema, (part) => (part.properties ? { ...part, additionalProperties: false } : part));
}

/** Applies `change` to the schema and all schemas in it. */
function mapped(schema: Schema, change: (part: Schema) => Schema): Schema {
  const { properties, items } = schema;
  const inner = Object.entries(properties ?? {}).map(([name, part]) => [name, mapped(part, change)]);
  return change({
    ...schema,
    ...(properties ? { properties: Object.fromEntries(inner) } : {}),
    ...(items ? { items: mapped(items, change) } : {}),
  });
}
