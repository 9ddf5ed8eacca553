import assert from 'node:assert/strict';
import { eventually } from '../../../testkit/service/eventually.ts';
import { type Service, startService } from '../../../testkit/service/service.ts';
import { openRaw } from '../../../testkit/sockets/raw-client.ts';
import type { RawAnswer } from '../../../testkit/sockets/raw-framing.ts';
import { head } from '../../../testkit/sockets/raw-request.ts';
import { makeStoreDatabase } from '../../../testkit/stores/postgres.ts';

/** Two services, one on each store, that get the same requests. Values that only one can know become placeholders. */
export type Twins = {
  /** Creates the user on both. */
  user(name: string): Promise<Person>;
  /** Lets the viewer read the owner's plants, on both; the service may notice a moment later. */
  share(owner: Person, viewer: Person): Promise<void>;
  /**
   * Sends the request to both and returns the answer they agree on. Ids, secrets, cursors and times in it become
   * placeholders, numbered by first appearance, such as `evt#1`.
   */
  ask(person: Person | undefined, request: Asked): Promise<string>;
  /** Reads a list with `limit` page by page, following each `Link`; returns the answers. */
  pages(person: Person, target: string): Promise<string[]>;
  /** Repeats `ask` until the answer matches on both. */
  askUntil(person: Person | undefined, request: Asked, expected: RegExp): Promise<string>;
  stop(): Promise<void>;
};

export type Person = { name: string; tokens: readonly string[] };

export type Asked = {
  /** Method and target; a placeholder in braces (`{wh#1}`) stands for each service's value. */
  line: string;
  /** Header fields except Host, Authorization and those of the body. */
  fields?: readonly string[];
  /** JSON, sent as is. */
  body?: string | Buffer;
};

export const plant = (members: object): Asked => ({ line: 'POST /plants', body: JSON.stringify(members) });

/** The first placeholder of a kind in an answer, in the form for requests. */
export function placeholder(
  kind: 'wh' | 'evt' | 'tok' | 'token' | 'cursor' | 'etag',
  answer: string,
): string {
  return `{${new RegExp(`${kind}#\\d+`).exec(answer)?.[0]}}`;
}

/** The longest text that the service accepts. */
export const LONG = 'x'.repeat(255);

type Twin = { service: Service; known: Known };

export async function startTwins(): Promise<Twins> {
  const database = await makeStoreDatabase();
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
          store.access.addShare({ owner: owner.name, viewer: viewer.name, at: runtime.clock.now() }, 100),
        ),
      );
    },
    async pages(person, target) {
      const found: string[] = [];
      for (let next: string | undefined = target; next !== undefined; ) {
        const answer = await ask(person, { line: `GET ${next}` });
        found.push(answer);
        next = /^link: <(.*)>; rel="next"$/im.exec(answer)?.[1]?.replace(/(?:cursor|wh)#\d+/g, '{$&}');
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
    // Not awaited: a refused upload may be answered before it was read.
    void connection.send(Buffer.concat([text, bytes ?? Buffer.alloc(0)]));
    return await connection.answer({ bodiless: line.startsWith('HEAD ') });
  } finally {
    connection.close();
  }
}

/** The whole answer as text, for the comparison. */
function shown({ status, fields, text }: RawAnswer, known: Known): string {
  const lines = fields.map(([name, value]) => {
    // Each service has its own.
    if (/^(?:date|x-request-id)$/i.test(name)) return `${name}: …`;
    // Real values may differ in length; a HEAD has the length of the GET.
    const isItsLength =
      name.toLowerCase() === 'content-length' && (text === '' || Number(value) === Buffer.byteLength(text));
    return isItsLength ? `${name}: its length` : `${name}: ${known.mask(value)}`;
  });
  return [status, ...lines, '', known.mask(text)].join('\n');
}

/** A service's own values and their placeholders. */
type Known = {
  /** Replaces values by placeholders. */
  mask(text: string): string;
  /** Replaces placeholders by values. */
  fill(text: string): string;
};

/** By kind. Times and durations cannot be compared, so they get no number. */
const KINDS: readonly [kind: string, pattern: RegExp][] = [
  ['time', /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g],
  ['day', /(?<="lastUsedOn":")[\d-]+/g],
  ['duration', /(?<="(?:durationMs|oldestWaitingAge)":)\d+/g],
  ['evt', /\bevt_[0-9a-z]{26}\b/g],
  ['wh', /\bwh_[0-9a-z]{26}\b/g],
  ['secret', /\bwhsec_[\w+/=]+/g],
  ['tok', /\btok_[0-9a-z]{26}\b/g],
  ['token', /\bpst_[0-9A-Za-z]{38}\b/g],
  ['key', /\bwhpk_[\w+/=]+/g],
  ['etag', /^"[\w-]{27}"$/g],
  ['cursor', /(?<=cursor=|"cursor":"|^id: )[\w.#-]+\.[\w-]+/gm],
];

function createKnown(): Known {
  const placeholders = new Map<string, string>();
  const values = new Map<string, string>();
  const counts = new Map<string, number>();

  function placeholderOf(kind: string, value: string): string {
    if (['time', 'day', 'duration'].includes(kind)) return `${kind}#`;
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
      // Cursors first: they may contain an event id.
      return KINDS.toReversed().reduce(
        (masked, [kind, pattern]) => masked.replace(pattern, (value) => placeholderOf(kind, value)),
        text,
      );
    },
    fill: (text) =>
      text.replace(/\{(\w+#\d+)\}/g, (_, placeholder) => values.get(placeholder) ?? placeholder),
  };
}
