import type { ErrorCode } from '../../src/errors.ts';
import { codeOf } from '../../testkit/contract/answers.ts';
import { type Client, Mismatch } from './client.ts';
import { curlOf, type Draft, draftOf, withJson } from './draft.ts';
import type { Answered, Ground } from './ground.ts';
import type { Person, World } from './world.ts';

/** What commands run against: the service, and the model. */
export type Stage = { ground: Ground; world: World; client: Client };

export type Ask = {
  operation: string;
  path: string;
  query?: string;
  body?: string | undefined;
  key?: string | undefined;
  client?: Client;
};

export async function ask(stage: Stage, person: Person, request: Ask): Promise<Answered> {
  const { ground, world } = stage;
  const operation = ground.operations.find(({ id }) => id === request.operation);
  const draft = draftFor(person, operation?.method ?? '', request);
  world.trail.push(() => curlOf(draft, ground.service.url));
  const answer = await ground.send(request.client ?? stage.client, draft, operation);
  world.trail.push(
    () => `  ${answer.status} ${answer.headers.get('location') ?? ''} ${answer.text.slice(0, 300)}`,
  );
  return answer;
}

export function draftFor(person: Person, method: string, { path, query = '', body, key }: Ask): Draft {
  const plain = { ...draftOf(method, path, person.token), query };
  const keyed = key === undefined ? plain : { ...plain, fields: [`Idempotency-Key: ${key}`] };
  return body === undefined ? keyed : withJson(keyed, body);
}

/**
 * A POST with or without an Idempotency-Key. `isFirst` is false when it was answered as a repetition or refused because
 * of its key, and so changed nothing.
 */
export async function post(
  stage: Stage,
  person: Person,
  request: Ask & { body: string },
): Promise<{ answer: Answered; isFirst: boolean }> {
  const { path, key, body } = request;
  const name = key === undefined ? undefined : `${path} ${bareKey(key)}`;
  const kept = name === undefined ? undefined : person.kept.get(name);
  const answer = await ask(stage, person, request);
  if (!kept) {
    expect(!isReplayed(answer), 'a first answer that says it is a repetition');
    if (name !== undefined) person.kept.set(name, { body, answer });
    return { answer, isFirst: true };
  }
  if (kept.body === body) expectRepetition(answer, kept.answer);
  else expectCode(answer, 42200);
  return { answer, isFirst: false };
}

/** Contract, section 1: repeats the recorded status, body and Location, with `Idempotent-Replayed: true`. */
export function expectRepetition(answer: Answered, first: Answered): void {
  expect(isReplayed(answer), 'a repetition without Idempotent-Replayed');
  const same = (name: string) => answer.headers.get(name) === first.headers.get(name);
  expect(answer.status === first.status && answer.text === first.text, 'a repetition with another answer');
  expect(same('location') && same('content-type'), 'a repetition with other headers');
}

export function isReplayed({ headers }: Answered): boolean {
  return headers.get('idempotent-replayed') === 'true';
}

export function expect(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

export function expectCode(answer: Answered, code: ErrorCode): void {
  expect(codeOf(answer) === code, `${code} was expected, and ${answer.status} came`);
}

export function expectStatus(answer: Answered, status: number): void {
  expect(answer.status === status, `${status} was expected, and ${answer.status} came`);
}

const SHOWN_STEPS = 120;

/** A failure with the steps that led to it. */
export function withTrail(error: unknown, { trail }: World): Mismatch {
  const what = error instanceof Mismatch || !(error instanceof Error) ? String(error) : error.message;
  const where = error instanceof Error && !(error instanceof Mismatch) ? `\n${error.stack ?? ''}` : '';
  const steps = trail.slice(-SHOWN_STEPS).map((text) => text());
  return new Mismatch(what, `the last of\n    ${steps.join('\n    ')}${where}`);
}

/** Both spellings of a key are the same key. */
function bareKey(key: string): string {
  return key.replaceAll('"', '');
}
