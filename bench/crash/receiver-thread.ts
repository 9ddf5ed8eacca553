import { parentPort, workerData } from 'node:worker_threads';
import { seededRandom } from '../../testkit/random/seeded.ts';
import { monotonicMs } from '../measure/clock.ts';
import { createVerifier, type Received, startReceiver } from '../servers/receiver.ts';
import { type Mood, moodNames, moods, type ReceiverReport, type ToReceivers } from './receiver.ts';

/** The receivers' thread. The path of a request names the receiver's mood. */

if (!parentPort) throw new Error('The receivers run in a worker thread');
const port = parentPort;
const random = seededRandom(workerData);
const isGenuine = new Map<Mood, ReturnType<typeof createVerifier>>();
const bodies: ReceiverReport['bodies'] = new Map();
/** How often, and when last, each event was accepted. */
const accepted = new Map(moodNames.map((mood) => [mood, new Map<string, { times: number; at: number }>()]));
const repeats: ReceiverReport['repeats'] = [];
const counts: ReceiverReport['counts'] = {
  ...{ requests: 0, failed: 0, reset: 0, hung: 0 },
  ...{ badSignatures: 0, changedBodies: 0 },
};
let isCalm = false;

port.on('message', (message: ToReceivers) => {
  if (message === 'report') port.postMessage(report());
  else if (message === 'calm') isCalm = true;
  else isGenuine.set(message.mood, createVerifier(message.secret));
});
const receiver = await startReceiver(receive);
port.postMessage(receiver.url);

function report(): ReceiverReport {
  const times = [...accepted].map(
    ([mood, events]) => [mood, new Map([...events].map(([event, entry]) => [event, entry.times]))] as const,
  );
  return { bodies, accepted: new Map(times), repeats, counts };
}

function receive(received: Received): void {
  // The webhooks' URLs come from `Receivers.url`.
  const mood = received.path as Mood;
  const { request, response } = received;
  counts.requests++;
  look(mood, received);
  const { hang, reset, fail, afterMs } = moods[mood];
  const chance = isCalm ? 1 : random();
  if (chance < hang) {
    counts.hung++;
  } else if (chance < hang + reset) {
    counts.reset++;
    request.socket.resetAndDestroy();
  } else if (chance < hang + reset + fail) {
    counts.failed++;
    response.writeHead(500).end();
  } else {
    accept(mood, received.event);
    if (afterMs === 0) response.writeHead(200).end();
    else setTimeout(() => response.writeHead(200).end(), afterMs);
  }
}

/** Every request must be genuine and repeat the body of its event. */
function look(mood: Mood, received: Received): void {
  const { event, body } = received;
  if (!isGenuine.get(mood)?.(received)) counts.badSignatures++;
  const earlier = bodies.get(event);
  if (earlier === undefined) bodies.set(event, body);
  else if (earlier !== body) counts.changedBodies++;
}

function accept(mood: Mood, event: string): void {
  const at = monotonicMs();
  const events = accepted.get(mood);
  const entry = events?.get(event);
  if (!entry) {
    events?.set(event, { times: 1, at });
    return;
  }
  repeats.push({ mood, event, before: entry.at, again: at });
  entry.times++;
  entry.at = at;
}
