import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { connect } from '../../../src/cli/api.ts';
import { followEvents } from '../../../src/cli/events.ts';

type Answer = (response: ServerResponse) => void;

type Followed = {
  /** The plants of the events, up to the requested number. */
  seen: unknown[];
  /** The messages, without the URL. */
  said: string[];
  /** `Last-Event-ID` of each connection. */
  asked: (string | undefined)[];
};

/** Follows a service that answers its connections like this, in order, until this many events have arrived. */
async function follow(
  t: TestContext,
  answers: readonly Answer[],
  count: number,
  onChange: (message: string) => void = () => {},
): Promise<Followed> {
  const followed: Followed = { seen: [], said: [], asked: [] };
  const server = createServer(({ headers }, response) => {
    answers[followed.asked.push(headers['last-event-id']?.toString()) - 1]?.(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);

  const url = `http://127.0.0.1:${address.port}`;
  const api = { url, token: 'x' };
  const events = followEvents(api, connect(api), {
    signal: new AbortController().signal,
    onChange(message) {
      followed.said.push(message.replaceAll(url, 'URL'));
      onChange(message);
    },
  });
  for await (const { plant } of events) {
    if (followed.seen.push(plant) === count) break;
  }
  return followed;
}

/** So that the stream is soon connected again. */
const RETRY = 'retry: 1\n\n';

function stream(text: string): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(RETRY + text);
  };
}

function streamAndEnd(text: string): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(RETRY + text);
  };
}

function refuse(status: number, error: number): Answer {
  return (response) => {
    response.writeHead(status).end(JSON.stringify({ error, message: 'No.' }));
  };
}

const LISTENING = 'Listening to URL. Press Ctrl+C to stop.';

test('it reconnects until the service is back, and says so once', async (t) => {
  const down = [refuse(503, 50303), refuse(429, 42900), refuse(500, 50000), refuse(408, 40800)];
  const answers = [
    streamAndEnd('id: a\ndata: {"plant":1}\n\n'),
    ...down,
    stream('id: b\ndata: {"plant":2}\n\n'),
  ];
  const { seen, said, asked } = await follow(t, answers, 2);
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(asked, [undefined, 'a', 'a', 'a', 'a', 'a']);
  assert.deepEqual(said, [
    LISTENING,
    'The service ended the event stream. Reconnecting.',
    'Connected again.',
  ]);
});

test('a stream resumes at a position without an event', async (t) => {
  const answers = [
    streamAndEnd('id: a\nretry: 1\n\n: heartbeat\n\n'),
    stream('id: b\ndata: {"plant":1}\n\n'),
  ];
  const { seen, asked } = await follow(t, answers, 1);
  assert.deepEqual([seen, asked], [[1], [undefined, 'a']]);
});

test('an incomplete event is not shown', async (t) => {
  const answers = [
    streamAndEnd('id: a\ndata: {"plant":1}\n\nid: b\ndata: {"plant":2}'),
    stream('id: b\ndata: {"plant":2}\n\n'),
  ];
  const { seen, asked } = await follow(t, answers, 2);
  assert.deepEqual(
    [seen, asked],
    [
      [1, 2],
      [undefined, 'a'],
    ],
  );
});

test('a stream that is silent for too long counts as dead', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const answers = [stream('id: a\ndata: {"plant":1}\n\n'), stream('id: b\ndata: {"plant":2}\n\n')];
  // After pending work, so that the timers exist: for the next bytes of the service, then for reconnecting.
  const wait = (said: string) => {
    if (said.startsWith('Listening')) setImmediate(() => t.mock.timers.tick(45_000));
    if (said.endsWith('Reconnecting.')) setImmediate(() => t.mock.timers.tick(10));
  };
  const { seen, said, asked } = await follow(t, answers, 2, wait);
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(asked, [undefined, 'a']);
  assert.equal(said[1], 'The event stream was silent for 45 s. Reconnecting.');
});

test('when the service no longer has the last event, the stream continues from now and says so', async (t) => {
  const answers = [
    streamAndEnd('id: a\ndata: {"plant":1}\n\n'),
    refuse(400, 40007),
    stream('id: b\ndata: {"plant":2}\n\n'),
  ];
  const { seen, said, asked } = await follow(t, answers, 2);
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(asked, [undefined, 'a', undefined]);
  assert.equal(said.at(-1), 'Connected again. Events sent in the meantime may be missing.');
});

const wrong: readonly { what: string; answer: Answer; says: RegExp }[] = [
  { what: 'a refused token', answer: refuse(401, 40101), says: /^No\. \(error 40101\)/ },
  { what: 'a missing scope', answer: refuse(403, 40300), says: /^No\. \(error 40300\)/ },
  {
    what: 'a page',
    answer: (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    says: /but not like a plant store/,
  },
  {
    what: 'an event without end',
    answer: stream(`data: ${'x'.repeat(100_000)}`),
    says: /but not like a plant store/,
  },
];

for (const { what, answer, says } of wrong) {
  test(`${what} ends it, even when it was connected before`, async (t) => {
    await assert.rejects(follow(t, [answer], 1), { message: says });
    await assert.rejects(follow(t, [streamAndEnd(''), answer], 1), { message: says });
  });
}

test('a first connection that fails is not retried, whatever the reason', async (t) => {
  await assert.rejects(follow(t, [refuse(503, 50303), stream('data: {"plant":1}\n\n')], 1), {
    message: 'No. (error 50303)',
  });
});
