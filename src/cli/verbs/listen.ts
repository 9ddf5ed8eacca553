import type { PlantEvent as ApiEvent } from '../../../packages/client/src/schemas.ts';
import { ConfigError } from '../../config/config.ts';
import { type Runtime, silentLog, systemRuntime } from '../../runtime.ts';
import { eventTypes, type PlantEvent } from '../../webhooks/port.ts';
import { failureOf } from '../../webhooks/sending/attempt.ts';
import { newKeyPair, newSecret, sign } from '../../webhooks/sending/signature.ts';
import { refuseUnknown } from '../answers.ts';
import { connect } from '../api.ts';
import { type Api, type ApiFlags, readApi } from '../api-options.ts';
import { followEvents } from '../events.ts';
import { Failure, Misuse } from '../failure.ts';
import { abortOnSignal } from '../terminal/signals.ts';
import {
  exactJson,
  insist,
  type Line,
  outputAbandoned,
  print,
  printBeginning,
  type Styled,
  say,
  writeJson,
} from '../terminal/terminal.ts';
import { parseTime, sinceRule } from '../terminal/time.ts';
import { option, type Verb } from '../verb.ts';
import type { Forwarder } from './forward.ts';

type ListenFlags = ApiFlags & { forwardTo?: string; secret?: string; since?: string; json?: true };

const FORWARD_RULE = 'an http or https URL such as http://localhost:4000/hook, or localhost:4000 for short';
const SECRET_RULE = 'whsec_ and base64 of 24 to 64 bytes, as "webhook create" shows it';

export const followOptions = () => [
  option('--since <time>', `start with the events since then: ${sinceRule} (default: now)`, parseTime),
  option('--json', 'print each event as a JSON object on a line of its own'),
];

export const verb: Verb = {
  options: [
    option('--forward-to <url>', `send each event, signed like a delivery, to ${FORWARD_RULE}`, parseTarget),
    option(
      '--secret <secret>',
      'the signing secret: whsec_… (SECRET, default: a new one, which is printed)',
      (text) => checkedSecret('--secret', text),
    ),
    ...followOptions(),
  ],
  examples: [
    'listen',
    'listen --forward-to localhost:4000/hook --since 10m',
    'listen --json | jq --unbuffered -r .plant.name',
  ],
  notes: `Prints events until Ctrl+C. If the connection breaks, it resumes where it was. With --forward-to, each event is
sent once, in order, to a receiver on your machine or anywhere else; the answer follows on the same line, or on standard
error with --json. Set the secret in SECRET, where the example receivers read it, rather than pass --secret: every user of
the machine can read a command line.`,
  isRemote: true,
  run: follow,
};

export async function follow(flags: ListenFlags): Promise<void> {
  if (flags.secret !== undefined && flags.forwardTo === undefined) {
    throw new Misuse('--secret requires --forward-to');
  }
  const api = readApi(flags);
  const runtime = systemRuntime(silentLog);
  const stopping = new AbortController();
  abortOnSignal(stopping);
  const signal = AbortSignal.any([stopping.signal, outputAbandoned()]);
  await using forwarder = await forwarderFor(flags, api, runtime);
  signal.addEventListener('abort', () => void forwarder?.stop());
  const { since } = flags;
  const service = connect(api, { patience: { stopping: signal } });
  for await (const event of followEvents(api, service, { since, signal, onChange: say })) {
    await (flags.json ? showJson(event, forwarder) : showLine(event, forwarder));
    if (signal.aborted) break;
  }
}

/** Prints the event at once and the answer when it is known. An unknown event is printed as it came. */
async function showLine(event: ApiEvent, forwarder: Forwarder | undefined): Promise<void> {
  const known = eventOf(event);
  const line = known === undefined ? exactJson(event) : lineOf(known);
  if (forwarder === undefined) return print([line]);
  printBeginning(line);
  print([['  ', await forwarded(known, forwarder)]]);
}

async function showJson(event: ApiEvent, forwarder: Forwarder | undefined): Promise<void> {
  await writeJson(`${exactJson(event)}\n`);
  if (forwarder === undefined) return;
  const known = eventOf(event);
  const note = await forwarded(known, forwarder);
  say(known === undefined ? [note] : [`${known.id}  `, note]);
}

/** The event for the sender; undefined for an unknown type. Throws a `Failure` for anything but an event. */
function eventOf(event: ApiEvent): PlantEvent | undefined {
  const type = eventTypes.find((each) => each === event.type);
  if (type === undefined) return undefined;
  refuseUnknown({ path: ['events', 'stream'] }, event);
  const { id, createdAt, plant } = event;
  const at = Date.parse(createdAt);
  if (Number.isNaN(at)) throw new Failure('The service sent an event whose "createdAt" is not a time.');
  return { id, type, at, plant: { id: BigInt(plant.id), name: plant.name, tag: plant.tag } };
}

function lineOf({ id, at, plant }: PlantEvent): Line {
  const cells = [id, String(plant.id), plant.name];
  if (plant.tag !== undefined) cells.push(plant.tag);
  return [{ style: 'dim', text: new Date(at).toISOString() }, `  ${cells.join('  ')}`];
}

/** Forwards a known event and returns a note about the answer, such as `-> 204 (3 ms)`, or why none came. */
async function forwarded(event: PlantEvent | undefined, forwarder: Forwarder): Promise<string | Styled> {
  if (event === undefined) {
    return '-> not forwarded: This version of plant-store does not know this type of event.';
  }
  const attempt = await forwarder.send(event);
  const { status, error, durationMs } = attempt;
  const note = `-> ${status ?? 'no answer'} (${durationMs} ms)`;
  const style = failureOf(attempt) === undefined ? 'green' : 'red';
  return { style, text: error === undefined ? note : `${note}: ${error}` };
}

/**
 * Prints what the receiver verifies with, each on a line of its own: a double click selects nothing else. A new secret
 * is printed even with `--quiet`. Throws a `ConfigError`.
 */
async function forwarderFor(
  { forwardTo: url, secret: given }: ListenFlags,
  api: Api,
  { clock, random }: Runtime,
): Promise<Forwarder | undefined> {
  if (url === undefined) return undefined;
  const { createForwarder } = await import('./forward.ts');
  const { SECRET } = process.env;
  const known = given ?? (SECRET ? checkedSecret('SECRET', SECRET) : undefined);
  const secret = known ?? newSecret(random);
  const { privateKey, publicKey } = newKeyPair(random);
  const orKey = ['or with the public key', publicKey];
  if (known === undefined) insist(`Forwarding to ${url}. Verify with the secret`, secret, ...orKey);
  else say(`Forwarding to ${url}. Verify with ${given ? 'your secret' : 'the secret in SECRET'}`, ...orKey);
  return createForwarder(url, { secrets: [secret], privateKey }, api.url, clock);
}

/** A host with a port alone means http. */
function parseTarget(given: string): string {
  const text = /^[^/@]+:\d+(?:\/|$)/.test(given) ? `http://${given}` : given;
  const url = /\s/.test(text) ? null : URL.parse(text);
  const isWeb = url !== null && /^https?:$/.test(url.protocol);
  if (isWeb && url.username === '' && url.password === '') return text;
  const rule = isWeb
    ? 'not contain a user name or password: deliveries do not send them'
    : `be ${FORWARD_RULE}`;
  // Commander's error would show the value, and a password in it.
  throw new ConfigError([`--forward-to: It must ${rule}.`]);
}

/** Throws a `ConfigError`, which does not show the secret as Commander's error would. */
function checkedSecret(source: string, text: string): string {
  try {
    const { privateKey } = newKeyPair(Buffer.alloc);
    sign({ id: '', timestamp: 0, body: '', keys: { secrets: [text], privateKey } });
    return text;
  } catch {
    throw new ConfigError([`${source}: It must be ${SECRET_RULE}.`]);
  }
}
