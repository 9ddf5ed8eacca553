import { codeOf, problemOf } from '../../testkit/contract/answers.ts';
import type { RawAnswer } from '../../testkit/sockets/raw-framing.ts';
import type { Expected, Ground } from './case.ts';

/** A problem of an answer as a sentence; undefined without one. */
export function wrongWith(answer: RawAnswer, expected: Expected, ground: Ground): string | undefined {
  const { status, headers, text } = answer;
  const outcome = (expected.head ? undefined : codeOf(answer)) ?? status;
  const allowed = expected.head ? expected.is.map(statusOf) : expected.is;
  if (!allowed.includes(outcome)) return `${outcome} instead of ${allowed.join(' or ')}`;
  if (status >= 500 && status !== 501 && status !== 505) return `a fault: ${status}`;
  if (expected.head && text !== '') return 'HEAD has a body';
  const problem = problemOf(answer, undefined, expected.head ? 'HEAD' : 'GET');
  if (problem !== undefined) return problem;
  if (text.includes(ground.token)) return 'the answer tells the token';
  const challenge = CHALLENGES[outcome];
  if (challenge && !challenge.test(headers.get('www-authenticate') ?? '')) return 'a wrong WWW-Authenticate';
  if (status === 201 && expected.plant) {
    const wrong = wrongPlant(answer, expected.plant);
    if (wrong !== undefined) return wrong;
  }
  for (const [name, pattern] of Object.entries(expected.fields ?? {})) {
    if (!pattern.test(headers.get(name) ?? '')) return `${name} is ${headers.get(name)}`;
  }
  if (expected.body && !expected.body.test(text)) return `the body is not ${expected.body}`;
  return undefined;
}

const statusOf = (outcome: number): number => (outcome < 1000 ? outcome : Math.floor(outcome / 100));

/** Contract, section 2. */
const CHALLENGES: Readonly<Record<number, RegExp>> = {
  40100: /^Bearer realm="plant-store"$/,
  40101: /^Bearer realm="plant-store", error="invalid_token"/,
  40102: /^Bearer realm="plant-store", error="invalid_token"/,
  40005: /^Bearer realm="plant-store", error="invalid_request"/,
  40300: /^Bearer realm="plant-store", error="insufficient_scope".* scope="[a-z: ]+"/,
};

function wrongPlant({ headers, text }: RawAnswer, { id, ...members }: NonNullable<Expected['plant']>) {
  const location = headers.get('location');
  if (id !== undefined && location !== `/plants/${id}`) return `Location is ${location}, not that of ${id}`;
  const body = JSON.parse(text);
  if (members.name === undefined) return undefined;
  const [got, wanted] = [body, members].map(({ name, tag }) => JSON.stringify([name, tag]));
  return got === wanted ? undefined : `the plant is ${got}, not ${wanted}`;
}
