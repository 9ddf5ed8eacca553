import { STATUS_CODES } from 'node:http';
import { errorNames } from '../../packages/client/src/plant-store-error.ts';
import { catalogue, type ErrorCode, statusOf } from '../../src/errors.ts';
import { failuresOf, type Operations } from '../../src/http/routes/operation.ts';
import { fileOf, requestLine } from './operation-pages.ts';
import { code, table } from './table.ts';

const INTRODUCTION = `# Errors

Every failure, whatever part of the service it comes from, has a body of this form, with
\`Content-Type: application/json\`:

\`\`\`json
{"error": 40002, "message": "The member \\"name\\" is missing; it must be a string of 1 to 255 …"}
\`\`\`

\`error\` is the HTTP status × 100 + a number; its meaning never changes, so programs may rely on it. \`message\` is one
sentence for a person and may be worded differently tomorrow. The name after each code below is the \`code\` of the
[client's](../how-to/use-the-client.md#failures) errors. Some failures have a header field of
their own: \`WWW-Authenticate\` (401, 403 and 40005), \`Allow\` (405), \`Retry-After\` (429 and 503). All have
\`X-Request-Id\`, except what is refused before it is read as a request. Quote it: the
[log](../how-to/observe.md#the-log) has it, too.

**What to retry.** 408, 429, 503 and \`40901\` are temporary: try again, after \`Retry-After\` where it is given. After
**50301** nobody knows whether the write took place: repeat it with the same \`Idempotency-Key\`, or with the same \`id\`
(40900 then says that the plant exists). 50000 is a fault of the service: report the request id that the message gives.
Any other error comes back until you change the request, the token, or what the request refers to.`;

const OPERATIONS = `The last column names the operations that return the code; "any" means all that
need a token. Where it is empty, the code is answered before an operation is known.`;

export function errorsPage(all: Operations): string {
  const operations = Object.entries(all);
  // Object.keys returns strings; the catalogue's keys are these numbers.
  const codes = Object.keys(catalogue).map((key) => Number(key) as ErrorCode);
  const sections = [...Map.groupBy(codes, statusOf)].map(([status, group]) => {
    const rows = group.map((error) => {
      const answering = operations.filter(([, operation]) => failuresOf(operation).includes(error));
      const names = answering.map(
        ([id, operation]) => `[${code(requestLine(operation))}](operations/${fileOf(id)})`,
      );
      const isAny = answering.length === operations.length;
      return [
        `${code(String(error))} ${errorNames[error]}`,
        catalogue[error],
        isAny ? 'any' : names.join(', '),
      ];
    });
    return `## ${status} ${STATUS_CODES[status] ?? ''}\n\n${table(['error', 'Meaning', 'Operations'], rows)}`;
  });
  return [INTRODUCTION, OPERATIONS, ...sections].join('\n\n');
}
