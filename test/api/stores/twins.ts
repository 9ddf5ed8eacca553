import assert from 'node:assert/strict';
import { addShare } from '../../../src/access/shares.ts';
import { eventually } from '../../../testkit/service/eventually.ts';
import { type Service, startService } from '../../../testkit/service/service.ts';
import { openRaw, type RawAnswer } from '../../../testkit/sockets/raw-client.ts';
import { head } from '../../../testkit/sockets/raw-request.ts';
import { makeDatabase } from '../../../testkit/stores/postgres.ts';

/** Two services, one on each store, that are asked the same. What only one of them can know is told apart by place. */
export type Twins = {
  /** Makes the user on both. */
  user(name: string): Promise<Person>;
  /** Lets the viewer read the owner's plants, on both; the service may notice a moment later. */
  share(owner: Person, viewer: Person): Promise<void>;
  /**
   * Sends the request to both, and gives the answer as both gave it: ids, secrets, cursors and times stand as
   * placeholders in it, numbered by their first appearance, such as `evt#1`.
   */
  ask(person: Person | undefined, request: Asked): Promise<string>;
  /** A list with `limit`, page by page: the answers to this target and to each that a `Link` names. */
  pages(person: Person, target: string): Promise<string[]>;
  /** The same as `ask`, again and again, until the answer matches on both. */
  askUntil(person: Person, request: Asked, expected: RegExp): Promise<string>;
  stop(): Promise<void>;
};

export type Person = { name: string; tokens: readonly string[] };

export type Asked = {
  /** Method and target, as they are sent; placeholders in braces (`{wh#1}`) stand for what each service gave. */
  line: string;
  /** Header fields, without Host, Authorization and those of the body. */
  fields?: readonly string[];
  /** Of JSON, as it is sent. */
  body?: string | Buffer;
};

/** A request that creates a plant. */
export const plant = (members: object): Asked => ({ line: 'POST /plants', body: JSON.stringify(members) });

/** The first placeholder of a kind in an answer, as it stands in a request. */
export function placeholder(kind: 'wh' | 'evt' | 'cursor', answer: string): string {
  return `{${new RegExp(`${kind}#\\d+`).exec(answer)?.[0]}}`;
}

/** As long as a text of the service may be. */
export const LONG = 'x'.repeat(255);

type Twin = { service: Service; known: Known };

export async function startTwins(): Promise<Twins> {
  const database = await makeDatabase();
  const settings = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_RETRY_SCHEDULE: '0s,1h' };
  const services = await Promise.all([
    startService({ ...settings, DATABASE_URL: '' }),
    startService({ ...settings, DATABASE_URL: database.url }),
  ]);
  const twins = services.map((service): Twin => ({ service, known: createKnown() }));
  const onBoth = <T>(work: (twin: Twin, which: number) => Promise<T>) => Promise.all(twins.map(work));

  async function answers(person: Person | undefined, request: Asked): Promise<string[]> {
    return onBoth(async ({ service, known }, which) => {
      const token = person?.tokens[which];
      return shown(await send(service, known, request, token), known);
    });
  }

  async function ask(person: Person | undefined, request: Asked): Promise<string> {
    const [embedded, database] = await answers(person, request);
    assert.equal(database, embedded, `${request.line}: the stores differ (expected: the embedded one)`);
    return database ?? '';
  }

  return {
    ask,
    async user(name) {
      return { name, tokens: await onBoth(({ service }) => service.tokenFor(name)) };
    },
    async share(owner, viewer) {
      await onBoth(({ service }) =>
        service.beside(({ store, runtime }) =>
          addShare({ store: store.access, runtime }, { owner: owner.name, viewer: viewer.name }),
        ),
      );
    },
    async pages(person, target) {
      const found: string[] = [];
      for (let next: string | undefined = target; next !== undefined; ) {
        const answer = await ask(person, { line: `GET ${next}` });
        found.push(answer);
        next = /^link: <(.*)>; rel="next"$/im.exec(answer)?.[1]?.replace(/cursor#\d+/, '{$&}');
      }
      return found;
    },
    askUntil: (person, request, expected) =>
      eventually(`answer ${expected} to ${request.line}`, async () => {
        const [embedded = '', database = ''] = await answers(person, request);
        if (!expected.test(embedded) || !expected.test(database)) return undefined;
        assert.equal(database, embedded, request.line);
        return database;
      }),
    async stop() {
      await onBoth(({ service }) => service.stop());
      await database.drop();
    },
  };
}

async function send(
  { port }: Service,
  known: Known,
  { line, fields = [], body }: Asked,
  token: string | undefined,
): Promise<RawAnswer> {
  const bytes = typeof body === 'string' ? Buffer.from(known.fill(body)) : body;
  const lines = [
    'Host: localhost',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...fields.map(known.fill),
    ...(bytes ? ['Content-Type: application/json', `Content-Length: ${bytes.length}`] : []),
    ...(!bytes && /^(POST|PATCH) /.test(line) ? ['Content-Length: 0'] : []),
  ];
  const connection = await openRaw(port);
  try {
    const text = Buffer.from(head(`${known.fill(line)} HTTP/1.1`, ...lines), 'latin1');
    // Not awaited: a refused upload may be answered before it has been taken.
    void connection.send(Buffer.concat([text, bytes ?? Buffer.alloc(0)]));
    return await connection.answer({ bodiless: line.startsWith('HEAD ') });
  } finally {
    connection.close();
  }
}

/** The whole answer as a text that both services should give. */
function shown({ status, fields, text }: RawAnswer, known: Known): string {
  const lines = fields.map(([name, value]) => {
    // Of each service its own.
    if (/^(?:date|x-request-id)$/i.test(name)) return `${name}: …`;
    // What stands for a placeholder may be longer on one than on the other; a HEAD request has the length of a GET.
    const isItsLength =
      name.toLowerCase() === 'content-length' && (text === '' || Number(value) === Buffer.byteLength(text));
    return isItsLength ? `${name}: its length` : `${name}: ${known.mask(value)}`;
  });
  return [status, ...lines, '', known.mask(text)].join('\n');
}

/** What a service gave that the other cannot know. */
type Known = {
  /** Puts placeholders in. */
  mask(text: string): string;
  /** Puts what they stand for in their place. */
  fill(text: string): string;
};

/** By kind. Times and durations say nothing that could be compared, so they get no number. */
const KINDS: readonly [kind: string, pattern: RegExp][] = [
  ['time', /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g],
  ['duration', /(?<="(?:durationMs|oldestWaitingAge)":)\d+/g],
  ['evt', /\bevt_[0-9a-z]{26}\b/g],
  ['wh', /\bwh_[0-9a-z]{26}\b/g],
  ['secret', /\bwhsec_[\w+/=]+/g],
  ['key', /\bwhpk_[\w+/=]+/g],
  ['cursor', /(?<=cursor=|"cursor":"|^id: )[\w.#-]+\.[\w-]+/gm],
];

function createKnown(): Known {
  const placeholders = new Map<string, string>();
  const values = new Map<string, string>();
  const counts = new Map<string, number>();

  function placeholderOf(kind: string, value: string): string {
    if (kind === 'time' || kind === 'duration') return `${kind}#`;
    const found = placeholders.get(value);
    if (found !== undefined) return found;
    const count = (counts.get(kind) ?? 0) + 1;
    const placeholder = `${kind}#${count}`;
    counts.set(kind, count);
    placeholders.set(value, placeholder);
    values.set(placeholder, value);
    return placeholder;
  }

  return {
    mask(text) {
      // Cursors first: they may hold the id of an event.
      return KINDS.toReversed().reduce(
        (masked, [kind, pattern]) => masked.replace(pattern, (value) => placeholderOf(kind, value)),
        text,
      );
    },
    fill: (text) =>
      text.replace(/\{(\w+#\d+)\}/g, (_, placeholder) => values.get(placeholder) ?? placeholder),
  };
}
