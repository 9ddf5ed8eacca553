import type { Answer } from '../../testkit/service/answer.ts';
import type { Service } from '../../testkit/service/service.ts';
import type { Belongings } from './belongings.ts';
import { fill, type Operation } from './operations.ts';

export type Extras = {
  method?: string;
  /** Including its question mark. */
  query?: string;
  authorization?: string | undefined;
  headers?: Record<string, string>;
  body?: unknown;
};

/** Calls an operation on a user's data. Reads only the start of an endless answer. */
export async function ask(
  { url }: Service,
  operation: Operation,
  target: Belongings,
  { method = operation.method, query = '', authorization, headers, body }: Extras,
): Promise<Answer> {
  const init: RequestInit = { method, headers: { ...headers } };
  const set = (name: string, value: string) => {
    init.headers = { [name]: value, ...init.headers };
  };
  if (authorization !== undefined) set('authorization', authorization);
  if (body !== undefined) {
    set('content-type', 'application/json');
    init.body = typeof body === 'string' ? body : JSON.stringify(body);
  }
  const response = await fetch(url + pathTo(operation, target) + query, init);
  return { status: response.status, headers: response.headers, text: await readText(response) };
}

/** The operation's path to that data. */
function pathTo({ path }: Operation, { plant, webhook, event, token }: Belongings): string {
  const nouns: Record<string, string> = { plants: plant.id, tokens: token };
  const ids: Record<string, string> = { id: nouns[path.split('/')[1] ?? ''] ?? webhook, event };
  return fill(path, (parameter) => {
    const id = ids[parameter];
    if (id === undefined) throw new Error(`Nothing is known to put in the place of ${parameter} in ${path}.`);
    return id;
  });
}

async function readText(response: Response): Promise<string> {
  const isEndless = response.headers.get('content-type') === 'text/event-stream';
  if (!isEndless || response.body === null) return response.text();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const { value = '' } = await reader.read();
  await reader.cancel();
  return value;
}
