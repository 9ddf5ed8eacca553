import fc from 'fast-check';
import { codeOf } from '../../testkit/contract/answers.ts';
import type { Operation } from '../../testkit/contract/document.ts';
import { Mismatch } from './client.ts';
import { curlOf, type Draft, draftOf } from './draft.ts';
import { makeFixtures } from './fixtures.ts';
import type { Answered, Ground } from './ground.ts';
import { bodyMutations } from './mutations/body-mutations.ts';
import { headMutations } from './mutations/head-mutations.ts';
import type { Mutation } from './mutations/mutation.ts';
import { pathMutations } from './mutations/path-mutations.ts';
import { queryMutations } from './mutations/query-mutations.ts';
import { type Valid, validRequests } from './mutations/valid.ts';
import { type Lane, outcomes } from './outcomes.ts';
import type { Property } from './property.ts';

/**
 * Requests for one operation: valid ones succeed and have their effect, those with one error get its code, and those
 * with two get the code of either.
 */
export async function requestsOf(ground: Ground, operation: Operation): Promise<Property<Plan>> {
  const fixtures = await makeFixtures(ground, operation);
  const lane: Lane = { ground, fixtures };
  const outcome = outcomes[operation.id];
  if (!outcome) throw new Error(`There is nothing to say about the operation ${operation.id}.`);
  const valid = validRequests(fixtures, ground.receiver);
  const mutations = fc.oneof(
    ...bodyMutations(operation),
    ...queryMutations(operation, fixtures.badCursors),
    ...headMutations(operation, fixtures.tokens, [...fixtures.badCursors, 'x', '0', 'evt_x.1']),
    ...pathMutations(operation, fixtures.foreign),
  );
  const others = fc.constantFrom<Other>('HEAD', 'OPTIONS');
  const plans = fc.oneof<fc.MaybeWeightedArbitrary<Plan>[]>(
    { weight: 8, arbitrary: fc.record({ valid }) },
    { weight: 10, arbitrary: fc.record({ valid, wrong: fc.tuple(mutations) }) },
    { weight: 2, arbitrary: fc.record({ valid, wrong: twoParts(mutations) }) },
    { weight: 1, arbitrary: fc.record({ valid, other: others }) },
  );

  async function accept(planned: Valid): Promise<void> {
    const request = (await outcome?.prepare?.(lane, planned)) ?? planned;
    const answer = await sendPlain(lane, request.draft, operation);
    const problem = await outcome?.judge(lane, request, answer);
    if (problem !== undefined) throw mismatch(lane, problem, request.draft, answer);
  }

  return {
    name: operation.id,
    arbitrary: plans,
    async check(plan: Plan) {
      if (plan.other) await checkOther(lane, plan.valid.draft, plan.other);
      else if (plan.wrong) await refuse(lane, plan.valid.draft, plan.wrong);
      else await accept(plan.valid);
    },
    async end() {
      const problem = await outcome.final?.(lane);
      fixtures.client.close();
      if (problem !== undefined) throw new Error(`${operation.id}: ${problem}`);
    },
  };
}

type Other = 'HEAD' | 'OPTIONS';
type Plan = { valid: Valid; wrong?: Mutation[]; other?: Other };

/** Two errors in different parts, so that neither repairs the other. */
function twoParts(mutations: fc.Arbitrary<Mutation>): fc.Arbitrary<Mutation[]> {
  return fc.tuple(mutations, mutations).filter(([one, other]) => one.part !== other.part);
}

/** A stream never ends by itself, but ends when its client sends no more. */
function sendPlain({ ground, fixtures }: Lane, draft: Draft, described?: Operation): Promise<Answered> {
  const { client, operation } = fixtures;
  const isStream = operation.id === 'streamEvents' && draft.method === 'GET';
  return ground.send(isStream ? { ...client, send: client.sendLast } : client, draft, described);
}

async function refuse(lane: Lane, draft: Draft, wrong: readonly Mutation[]): Promise<void> {
  const { fixtures } = lane;
  const usual: Draft = { ...draft, version: '1.1', host: ['localhost'] };
  const broken = wrong.reduce((before, mutation) => mutation.apply(before), usual);
  // The document's part on the operation does not cover requests that never become one.
  const isOther = wrong.some(({ codes }) => codes.some((code) => code === 40400 || code === 40500));
  const answer = await sendPlain(lane, broken, isOther ? undefined : fixtures.operation);
  const names = wrong.map(({ name }) => name).join(' and ');
  const code = codeOf(answer);
  const expected = wrong.flatMap(({ codes }) => codes);
  if (code === undefined || !expected.includes(code)) {
    throw mismatch(lane, `${expected.join(' or ')} was expected (${names})`, broken, answer);
  }
  const [challenge] = wrong.flatMap((mutation) =>
    mutation.codes.includes(code) ? (mutation.challenge ?? []) : [],
  );
  if (challenge !== undefined && answer.headers.get('www-authenticate') !== challenge) {
    throw mismatch(lane, `the challenge ${challenge} was expected`, broken, answer);
  }
}

/** HEAD must answer like GET without the body; OPTIONS with the path's methods, without a token. */
async function checkOther(lane: Lane, draft: Draft, other: Other): Promise<void> {
  const { ground, fixtures } = lane;
  const { operation, client } = fixtures;
  if (other === 'HEAD' && operation.method === 'GET') {
    const whole = await sendPlain(lane, draft, operation);
    const head = await ground.send(client, { ...draft, method: 'HEAD' }, operation);
    const seen = ({ status, headers }: Answered) =>
      [
        status,
        headers.get('content-type'),
        headers.get('link'),
        headers.get('etag'),
        headers.get('cache-control'),
      ].join();
    if (seen(whole) !== seen(head)) throw mismatch(lane, 'HEAD answers other than GET', draft, head);
    const length = head.headers.get('content-length');
    const again = await sendPlain(lane, draft, operation);
    // Times and counts in an answer may change in between.
    if (length !== null && again.text === whole.text && Number(length) !== Buffer.byteLength(whole.text)) {
      throw mismatch(lane, 'HEAD tells another length than GET', draft, head);
    }
    return;
  }
  const bare = { ...draftOf('OPTIONS', draft.path, ''), authorization: [] };
  const answer = await ground.send(client, bare, undefined);
  const allowed = answer.headers.get('allow')?.split(', ') ?? [];
  const ofPath = ground.operations.filter(({ path }) => path === operation.path).map(({ method }) => method);
  const expected = [...ofPath, ...(ofPath.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort();
  if (answer.status !== 204 || answer.text !== '' || allowed.join() !== expected.join()) {
    throw mismatch(lane, `204 and Allow: ${expected.join(', ')} were expected`, bare, answer);
  }
}

function mismatch({ ground }: Lane, what: string, draft: Draft, answer: Answered): Mismatch {
  return new Mismatch(what, curlOf(draft, ground.service.url), answer);
}
