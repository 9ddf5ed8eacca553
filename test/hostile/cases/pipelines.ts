import { succeeded } from '../../../testkit/service/answer.ts';
import type { Service } from '../../../testkit/service/service.ts';
import { bare, type Case, type Expected, exact, type Family, framed, TARGET } from '../case.ts';

/**
 * Pipelined requests (RFC 9112 §9.3.2): each gets its own answer, in order. An answer identifies its request by the id,
 * the user, the path or the code.
 */

type Step = { name: string; bytes: Case['bytes']; answer: Expected };

let lastId = 1_000_000;

/** A create with an id that no other case uses. */
function create(): Step {
  const id = String(++lastId);
  const body = `{"id":${id},"name":"Step ${id}"}`;
  return {
    name: 'a create',
    bytes: framed([`Content-Length: ${body.length}`], body),
    answer: { is: [201], plant: { id, name: `Step ${id}` } },
  };
}

const asUser = (word: string, line: string): Case['bytes'] =>
  exact(line, 'Host: x', `Authorization: Bearer {${word}}`);

const ann: Step = {
  name: "Ann's list",
  bytes: asUser('ann', 'GET /plants?fields=owner,name HTTP/1.1'),
  answer: {
    is: [200],
    body: /^\[\{"owner":"ann of pipelines","name":"Of Ann"\}\]$|^\[\{"name":"Of Ann","owner":"ann of pipelines"\}\]$/,
  },
};
const bob: Step = {
  name: "Bob's list",
  bytes: asUser('bob', 'GET /plants?fields=owner,name HTTP/1.1'),
  answer: { is: [200], body: /"bob of pipelines"/ },
};
/** Longer than an answer in one piece: it is streamed. */
const CROWD = 120;
const crowd: Step = {
  name: 'a long list',
  bytes: asUser('crowd', 'GET /plants?fields=tag HTTP/1.1'),
  answer: { is: [200], body: new RegExp(`^\\[([^}]*"é{255}"\\}){${CROWD}}\\]$`) },
};
const webhooks: Step = {
  name: 'no webhooks',
  bytes: bare('GET /webhooks HTTP/1.1'),
  answer: { is: [200], body: /^\[\]$/ },
};
const taken: Step = {
  name: 'an id that is taken',
  bytes: framed(['Content-Length: 28'], `{"id":${TARGET},"name":"Taken"}`),
  answer: { is: [40900] },
};
const missing: Step = {
  name: 'a missing path',
  bytes: bare('GET /nothing HTTP/1.1'),
  answer: { is: [40400] },
};
const noToken: Step = {
  name: 'a missing token',
  bytes: exact('GET /plants HTTP/1.1', 'Host: x'),
  answer: { is: [40100] },
};
const noPlant: Step = {
  name: 'a missing plant',
  bytes: bare('DELETE /plants/-77 HTTP/1.1'),
  answer: { is: [40401] },
};
const noJson: Step = {
  name: 'a body that is no JSON',
  bytes: framed(['Transfer-Encoding: chunked'], '1\r\n{\r\n0\r\n\r\n'),
  answer: { is: [40001] },
};
const headOnly: Step = {
  name: 'HEAD',
  bytes: bare('HEAD /plants?limit=1 HTTP/1.1'),
  answer: { is: [200], head: true, fields: { 'content-type': /json/ } },
};
const options: Step = {
  name: 'OPTIONS',
  bytes: bare('OPTIONS /plants/7 HTTP/1.1'),
  answer: { is: [204], fields: { allow: /^DELETE, OPTIONS$/ } },
};

const KINDS: (() => Step)[] = [
  create,
  () => ann,
  () => crowd,
  () => taken,
  () => missing,
  () => noToken,
  () => noPlant,
  () => noJson,
  () => headOnly,
  () => options,
];

const joined =
  (steps: readonly Step[]): Case['bytes'] =>
  (ground) =>
    Buffer.concat(steps.map(({ bytes }) => Buffer.from(bytes(ground) as string, 'latin1')));

function line(name: string, steps: readonly Step[], more: Partial<Case> = {}): Case {
  return { name, bytes: joined(steps), answers: steps.map(({ answer }) => answer), leaves: 'open', ...more };
}

/** Each kind of request before each other: slow, fast, long, short, refused or without a body. */
const pairs = KINDS.flatMap((first) =>
  KINDS.map((second) => {
    const steps = [first(), second()];
    return line(steps.map(({ name }) => name).join(', then '), steps);
  }),
);

const all = (): Step[] => KINDS.map((kind) => kind());
const times = (count: number, kind: () => Step): Step[] => Array.from({ length: count }, kind);

/** Every kind of request, in an order that the number determines. */
function shuffled(seed: number): Step[] {
  const order = all().map((step, index) => ({ step, key: Math.sin(seed * 100 + index) }));
  return order.sort((a, b) => a.key - b.key).map(({ step }) => step);
}

const runs = [
  line('every kind', all()),
  line('every kind, backwards', all().reverse()),
  line(
    'every kind, byte by byte',
    all().filter((step) => step !== crowd),
    { arrives: 'byte by byte' },
  ),
  line('every kind, ten times', times(10, () => ann).flatMap(all)),
  // No writes: one that waits for long may be dropped when its client has left.
  line(
    'reads and refusals, and the client ends',
    [ann, missing, crowd, noToken, headOnly, noJson, options, bob],
    {
      arrives: 'then the client ends',
      leaves: 'closed',
    },
  ),
  ...[1, 2, 3, 4, 5, 6].map((seed) => line(`every kind, shuffled (${seed})`, shuffled(seed))),
  line('a hundred creates', times(100, create)),
  line(
    'a hundred lists of two users in turn',
    times(50, () => ann).flatMap((step) => [step, bob]),
  ),
  line('a hundred refusals between two creates', [create(), ...times(100, () => missing), create()]),
  line('twenty long lists, and a create', [...times(20, () => crowd), create()]),
  line(
    'a create before each of twenty long lists',
    times(20, create).flatMap((step) => [step, crowd]),
  ),
  line('HEAD thirty times, and a list', [...times(30, () => headOnly), ann]),
  line('OPTIONS thirty times, and a list', [...times(30, () => options), webhooks]),
  line('empty lines between requests', [ann, blank(bob), blank(create()), blank(missing)]),
];

/** RFC 9112 §2.2: an empty line before a request is skipped. */
function blank(step: Step): Step {
  return {
    ...step,
    bytes: (ground) =>
      Buffer.concat([Buffer.from('\r\n'), Buffer.from(step.bytes(ground) as string, 'latin1')]),
  };
}

/** Only safe requests may run concurrently (RFC 9112 §9.3.2), so the next request sees each write. */
function writes(): Case[] {
  const removal = (id: string, is: number): Step => ({
    name: 'its removal',
    bytes: bare(`DELETE /plants/${id} HTTP/1.1`),
    answer: is === 204 ? { is: [204], removes: id } : { is: [is] },
  });
  const idOf = ({ answer }: Step): string => answer.plant?.id ?? '';
  const again = (step: Step): Step => ({ ...step, answer: { is: [40900] } });
  const [one, two, three, four] = [create(), create(), create(), create()] as const;
  return [
    line('a create, then its removal', [one, removal(idOf(one), 204)]),
    line('a create twice', [two, again(two)]),
    line('a create, its removal twice', [three, removal(idOf(three), 204), removal(idOf(three), 40401)]),
    line('a create, its removal, and the create again', [four, removal(idOf(four), 204), four]),
    line(
      'a create and its list',
      (() => {
        const step = create();
        const list = {
          name: 'its list',
          bytes: bare('GET /plants?fields=id HTTP/1.1'),
          answer: { is: [200], body: new RegExp(`:${idOf(step)}\\b`) },
        };
        return [step, list];
      })(),
    ),
  ];
}

/** The same key twice at once: the second must wait or gets the recorded answer; never a second plant. */
function keyed(name: string, key: string, bodies: [string, string], is: number[]): Case {
  const step = (body: string): Step => ({
    name: '',
    bytes: framed([`Idempotency-Key: ${key}`, `Content-Length: ${body.length}`], body),
    answer: { is: [201] },
  });
  const second = { ...step(bodies[1]), answer: { is } };
  return line(name, [step(bodies[0]), second]);
}

/** Requests that end a connection: nothing after them is answered or run. */
const ENDS: [name: string, end: Step][] = [
  [
    'Connection: close',
    { name: '', bytes: bare('GET /nothing HTTP/1.1', 'Connection: close'), answer: { is: [40400] } },
  ],
  ['HTTP/1.0', { name: '', bytes: bare('GET /nothing HTTP/1.0'), answer: { is: [40400] } }],
  [
    'a request line that cannot be read',
    { name: '', bytes: () => 'garbage\r\n\r\n', answer: { is: [40000] } },
  ],
  [
    'a field that cannot be read',
    { name: '', bytes: bare('GET /plants HTTP/1.1', 'X y: z'), answer: { is: [40000] } },
  ],
  [
    'a version that is not supported',
    { name: '', bytes: bare('GET /plants HTTP/3.0'), answer: { is: [50500] } },
  ],
  [
    'a length and a coding',
    {
      name: '',
      bytes: framed(['Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
      answer: { is: [40000] },
    },
  ],
  [
    'a chunk that cannot be read',
    { name: '', bytes: framed(['Transfer-Encoding: chunked'], 'x\r\n'), answer: { is: [40000] } },
  ],
  [
    'a body that is too large',
    { name: '', bytes: framed(['Content-Length: 70000'], ' '.repeat(70_000)), answer: { is: [41300] } },
  ],
  [
    'header fields that are too large',
    { name: '', bytes: bare('GET /plants HTTP/1.1', `X: ${'x'.repeat(40_000)}`), answer: { is: [43100] } },
  ],
];

const ends = ENDS.flatMap(([name, end]) =>
  [[], [create()], [create(), crowd, create()]].map(
    (before, index): Case => ({
      name: `${name} ${['first', 'after a create', 'after creates and a long list'][index]}`,
      bytes: joined([...before, end]),
      answers: [...before, end].map(({ answer }) => answer),
      // The end of a complete body is known.
      leaves: name === 'a body that is too large' ? 'either' : 'closed',
    }),
  ),
);

export const pipelines: Family = {
  name: 'pipelines',
  cases: [
    ...pairs,
    ...runs,
    ...writes(),
    keyed('a key twice, alike', 'alike', ['{"name":"Once"}', '{"name":"Once"}'], [201, 40901]),
    keyed('a key twice, for another plant', 'other', ['{"name":"Once"}', '{"name":"Else"}'], [42200, 40901]),
    ...ends,
  ],
  prepare: async (service) => ({
    ann: await userWith(service, 'ann of pipelines', [{ name: 'Of Ann' }]),
    bob: await userWith(service, 'bob of pipelines', [{ name: 'Of Bob' }]),
    crowd: await userWith(
      service,
      'crowd of pipelines',
      Array(CROWD).fill({ name: 'One', tag: 'é'.repeat(255) }),
    ),
  }),
};

async function userWith(service: Service, user: string, plants: object[]): Promise<string> {
  const token = await service.tokenFor(user);
  for (const body of plants) succeeded(await service.request('POST', '/plants', { token, body }), 201);
  return token;
}
