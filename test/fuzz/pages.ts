import fc from 'fast-check';
import { codeOf } from '../../testkit/contract/answers.ts';
import { Mismatch } from './client.ts';
import { curlOf, draftOf } from './draft.ts';
import { type Answered, clientOf, type Ground } from './ground.ts';
import type { Property } from './property.ts';

/** Pages without a token, and unknown paths: contract, sections 3 and 6. */
export function pages(ground: Ground): Property<Asked> {
  const client = clientOf(ground);
  return {
    name: 'pages',
    arbitrary: fc.record({ path: paths, method: methods, authorization }),
    async check({ path, method, authorization }: Asked) {
      const draft = { ...draftOf(method, path, ''), authorization };
      const answer = await ground.send(client, draft, undefined);
      const problem = problemWith({ path, method, authorization }, answer);
      if (problem !== undefined) throw new Mismatch(problem, curlOf(draft, ground.service.url), answer);
    },
    async end() {
      client.close();
    },
  };
}

type Asked = { path: string; method: string; authorization: readonly string[] };

const PAGES: Readonly<Record<string, { status: number; type: string | undefined }>> = {
  '/': { status: 302, type: undefined },
  '/healthz': { status: 200, type: 'application/json' },
  '/readyz': { status: 200, type: 'application/json' },
  '/openapi.json': { status: 200, type: 'application/json' },
};

const UNKNOWN = [
  '/x',
  '/plant',
  '/users',
  '/metrics',
  '/token',
  '/admin',
  '/.env',
  '/healthz/x',
  '/HEALTHZ',
  '/openapi.yaml',
];

/** Segments of letters, so that none is a path of the service, and none is malformed. */
const madeUp = fc
  .array(fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }), { minLength: 1, maxLength: 4 })
  .map((segments) => segments.map((segment) => `/q${encodeURIComponent(segment)}`).join(''));
const paths = fc.oneof(fc.constantFrom(...Object.keys(PAGES)), fc.constantFrom(...UNKNOWN), madeUp);
const methods = fc.constantFrom('GET', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE', 'PATCH', 'TRACE');
const authorization = fc.constantFrom<string[]>([], [], ['Bearer x'], ['Basic x'], ['']);

function problemWith({ path, method }: Asked, answer: Answered): string | undefined {
  const page = PAGES[path];
  if (!page) return isCode(answer, method, 404, 40400) ? undefined : '40400 was expected';
  if (method === 'OPTIONS') {
    const isAllowed = answer.headers.get('allow') === 'GET, HEAD, OPTIONS';
    return answer.status === 204 && isAllowed ? undefined : '204 and Allow were expected';
  }
  if (method !== 'GET' && method !== 'HEAD') {
    const isRefused = codeOf(answer) === 40500 && answer.headers.get('allow') === 'GET, HEAD, OPTIONS';
    return isRefused ? undefined : '40500 and Allow were expected';
  }
  if (answer.status !== page.status) return `${page.status} was expected`;
  if (method === 'HEAD' && answer.text !== '') return 'HEAD has a body';
  if (page.type === undefined) return answer.headers.has('location') ? undefined : 'Location is missing';
  return answer.headers.get('content-type')?.startsWith(page.type) ? undefined : `${page.type} was expected`;
}

function isCode(answer: Answered, method: string, status: number, code: number): boolean {
  return method === 'HEAD' ? answer.status === status : codeOf(answer) === code;
}
