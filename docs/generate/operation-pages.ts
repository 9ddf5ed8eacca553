import { catalogue } from '../../src/errors.ts';
import { newPlant, pathTemplate, tags } from '../../src/http/routes/openapi.ts';
import {
  COMMON_FAILURES,
  failuresOf,
  type Operation,
  type Operations,
} from '../../src/http/routes/operation.ts';
import { examples } from './operation-examples.ts';
import { memberRows, type Parameter, parametersOf, sampleOf, typeOf } from './samples.ts';
import { code, table } from './table.ts';

/** The index of the operations and a page for each, by path below `docs/reference/`. */
export function operationPages(operations: Operations): Map<string, string> {
  const pages = new Map([['operations.md', indexPage()]]);
  for (const [id, operation] of Object.entries(operations))
    pages.set(`operations/${fileOf(id)}`, operationPage(id, operation));
  return pages.set(NEW_PLANT, newPlantPage());
}

/** The file of an operation's page, from its `operationId`. */
export function fileOf(id: string): string {
  return `${id.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.md`;
}

const NEW_PLANT = `operations/${fileOf(newPlant.operationId)}`;

const INTRODUCTION = `# Operations

The HTTP API. Each operation has a page with its parameters, errors and examples; in the documentation that a service
serves at \`/docs/api\`, you can also try it there. [openapi.json](openapi.json) says the same to programs.

The examples expect the URL of a service in \`$API\` and a token in \`$TOKEN\`. The command line reads both from a
[profile](cli.md#where-the-service-is-and-as-whom), and \`store\` is a [typed client](../how-to/use-the-client.md).

Ignore members, header fields and types of events that you do not know: later versions may add some.`;

const END = `## One plant

To read one plant, list from its id: \`GET /plants?from=7&limit=1&fields=id,name,tag,owner\`. Compare id and owner: if
there is no such plant, you get the next one. A plant never changes. To correct one, delete it and create it again,
which announces it again.

## Without a token

\`/console\`, \`/docs\`, \`/openapi.json\`, \`/healthz\` (liveness) and \`/readyz\` (readiness) need no token.

## Failures and retries

Every failure has the body \`{"error": <integer>, "message": <string>}\`; see [the error codes](errors.md). Every POST
accepts an \`Idempotency-Key\`, so [retries are safe](../how-to/retry-safely.md).

## Lists that have not changed

\`GET /plants\` answers with an \`ETag\`, unless the list is so long that it is streamed. Send it back as
\`If-None-Match\`: if the list has not changed, the answer is 304, without a body. Browsers do so by themselves; with curl:

\`\`\`console
$ curl -sS "$API/plants?limit=20" -H "Authorization: Bearer $TOKEN" \\
    --etag-compare plants.etag --etag-save plants.etag -o plants.json
\`\`\``;

function indexPage(): string {
  const sections = tags.map(({ name, operations }) => {
    const rows = Object.entries(operations).map(([id, operation]) => [
      `[${operation.summary}](operations/${fileOf(id)})`,
      code(requestLine(operation)),
      operation.scope ? code(operation.scope) : 'any',
    ]);
    if (newPlant.tags.includes(name)) {
      rows.push([`[${newPlant.summary}](${NEW_PLANT})`, '`POST` to your receiver', 'none: it is signed']);
    }
    return `## ${name}\n\n${table(['Operation', 'Request', 'Scope'], rows)}`;
  });
  return [INTRODUCTION, ...sections, END].join('\n\n');
}

/** Such as `GET /plants`. */
export function requestLine(operation: Operation): string {
  return `${operation.method} ${pathTemplate(operation)}`;
}

function operationPage(id: string, operation: Operation): string {
  const { summary, description, scope, body, success } = operation;
  return [
    `# ${summary} \`${requestLine(operation)}\``,
    description,
    scope ? `The token needs the scope \`${scope}\`.` : '',
    ...exampleTabs(id, operation),
    section('Parameters', ['Parameter', 'Type', 'Meaning'], parametersOf(operation).map(parameterRow)),
    section('Body', ['Member', 'Type', 'Meaning'], memberRows(body ?? {}, true)),
    `## Response\n\n\`${success.status}\`: ${success.description}`,
    ...Object.entries(success.headers ?? {}).map(([name, text]) => `\`${name}\`: ${text}`),
    ...answerParts(success, examples[id]?.response),
    errorsPart(operation),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** The request to a receiver. */
function newPlantPage(): string {
  const { summary, description, parameters, requestBody, responses } = newPlant;
  const headers = parameters.map((each) => [code(each.name), each.description]);
  const answers = Object.entries(responses).sort();
  return [
    `# ${summary} \`POST\` to your receiver`,
    description,
    '[Receive webhooks](../../how-to/receive-webhooks.md) shows a whole request and how to verify it; ' +
      '[the rules](../webhooks.md) say when it is sent again.',
    section('Header fields', ['Header', 'Meaning'], headers),
    '## Body',
    ...answerParts(requestBody.content['application/json']),
    section(
      'What your answer does',
      ['Status', 'Meaning'],
      answers.map(([status, answer]) => [
        status === 'default' ? 'any other' : code(status),
        answer.description,
      ]),
    ),
  ].join('\n\n');
}

function section(title: string, headings: readonly string[], rows: readonly string[][]): string {
  return rows.length === 0 ? '' : `## ${title}\n\n${table(headings, rows)}`;
}

function parameterRow({ name, place, schema }: Parameter): string[] {
  const need = place === 'path' ? ', required' : '';
  return [`${code(name)} in the ${place}`, typeOf(schema) + need, schema.description ?? ''];
}

function answerParts({ schema, type }: Partial<Operation['success']>, members?: object): string[] {
  if (!schema || type !== undefined) return [];
  const sample = Object.assign(Object(sampleOf(schema)), members);
  return [
    `\`\`\`json\n${JSON.stringify(sample, null, 2)}\n\`\`\``,
    table(['Member', 'Type', 'Meaning'], memberRows(schema, false)),
  ];
}

function errorsPart(operation: Operation): string {
  const own = failuresOf(operation).filter((each) => !COMMON_FAILURES.includes(each));
  const rows = own.map((each) => [code(String(each)), catalogue[each]]);
  const common = 'Every operation can also return the [codes](../errors.md) marked "any".';
  return [section('Errors', ['error', 'Meaning'], rows) || '## Errors', common].join('\n\n');
}

/** An id for each path parameter, by the segment before it. */
const IDS: Readonly<Record<string, string>> = {
  plants: '7',
  webhooks: 'wh_…',
  deliveries: 'evt_…',
  tokens: 'tok_…',
};

/** Consecutive blocks with a label; the documentation site shows them as tabs. */
function exampleTabs(id: string, operation: Operation): string[] {
  const { query, cli, client } = examples[id] ?? {};
  const block = (info: string, text: string) => `\`\`\`${info}\n${text}\n\`\`\``;
  return [
    block('bash curl', curlOf(operation, query)),
    ...(cli ? [block('bash CLI', `plant-store ${cli}`)] : []),
    ...(client ? [block('ts Client', sourceOf(client))] : []),
  ];
}

function curlOf({ method, url, body, success }: Operation, query?: string): string {
  const path = url.replace(/(\w+)\/:\w+/g, (_, segment: string) => `${segment}/${IDS[segment]}`);
  const sample = JSON.stringify(body ? sampleOf(body) : {});
  const hasBody = sample !== '{}';
  // With a body curl sends POST by itself.
  const isImplied = method === (hasBody ? 'POST' : 'GET');
  return [
    `curl -i${success.type ? 'N' : ''}${isImplied ? '' : ` -X ${method}`} "$API${path}${query ? `?${query}` : ''}"`,
    '-H "Authorization: Bearer $TOKEN"',
    ...(hasBody ? ["-H 'Content-Type: application/json'", `-d '${sample}'`] : []),
  ].join(' \\\n  ');
}

/** The body of a function, or its expression awaited. */
function sourceOf(client: (...args: never[]) => unknown): string {
  const [, text = ''] = /=>\s*(.*)$/s.exec(client.toString()) ?? [];
  const [, statements] = /^\{\n(.*)\n\s*\}$/s.exec(text) ?? [];
  return statements?.replaceAll(/^ {6}/gm, '') ?? `await ${text};`;
}
