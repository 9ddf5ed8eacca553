import { type Command, InvalidArgumentError } from 'commander';
import { ConfigError, type Environment } from '../config.ts';
import { type Runtime, silentLog, systemRuntime } from '../runtime.ts';
import type { PlantEvent } from '../webhooks/port.ts';
import { newKeyPair, newSecret, sign } from '../webhooks/signature.ts';
import { type Api, type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { followEvents } from './event-stream.ts';
import { attemptNote, eventLine, notForwarded, parseEvent } from './event-view.ts';
import { examplesFirst } from './examples.ts';
import { Failure } from './failure.ts';
import type { Forwarder } from './forward.ts';
import { readJson } from './json.ts';
import { stopSignal } from './signals.ts';
import { outputAbandoned, print, printBeginning, type Styled, say, writeJson } from './terminal.ts';

/** `listen` */
export function listen(command: Command): void {
  command
    .option('--forward-to <url>', `send each event to ${FORWARD_RULE}, signed as a delivery is`, parseTarget)
    .option(
      '--secret <secret>',
      'what to sign with: whsec_… (SECRET, default: a new one, which is shown)',
      parseSecret,
    )
    .option('--json', 'print each event as a JSON object on a line of its own')
    .addHelpText(
      'after',
      '\nShows the events from now on, until Ctrl+C. A connection that breaks off is opened again where it was. With\n' +
        '--forward-to each event is sent once, in order, to a receiver on your own machine or anywhere else; the answer\n' +
        'stands behind the line, or on standard error with --json. Give the secret in SECRET rather than with --secret, as the\n' +
        'examples of receivers read it: a command line is visible to everybody on the machine.',
    )
    .configureHelp(
      examplesFirst(
        'listen',
        'listen --forward-to http://localhost:4000/hook',
        'listen --json | jq --unbuffered -r .plant.name',
      ),
    )
    .action(run);
  addApiOptions(command);
}

type ListenFlags = ApiFlags & { forwardTo?: string; secret?: string; json?: true };

async function run(flags: ListenFlags, command: Command): Promise<void> {
  if (flags.secret !== undefined && flags.forwardTo === undefined) {
    command.error('error: --secret is for --forward-to, which is missing', { exitCode: 2 });
  }
  const api = readApi(process.env, flags);
  const runtime = systemRuntime(silentLog);
  const stopping = new AbortController();
  void stopSignal(runtime.clock).then(() => stopping.abort());
  const signal = AbortSignal.any([stopping.signal, outputAbandoned()]);
  const forwarder = await forwarderFor(flags, api, runtime);
  signal.addEventListener('abort', () => void forwarder?.stop());
  try {
    for await (const event of followEvents(api, { signal, onChange: say })) {
      await (flags.json ? showJson(event, forwarder) : showLine(event, forwarder));
      if (signal.aborted) break;
    }
  } finally {
    await forwarder?.stop();
  }
}

/** The part before the arrow at once, the rest when it is known. */
async function showLine(text: string, forwarder: Forwarder | undefined): Promise<void> {
  const event = parseEvent(text);
  const line = event === undefined ? text : eventLine(event);
  if (forwarder === undefined) return print(line);
  printBeginning(line);
  print(['  ', await forwarded(event, forwarder)]);
}

/** The text as it came, so that no digit is lost, on one line: in JSON, line breaks and tabs stand only between values. */
async function showJson(text: string, forwarder: Forwarder | undefined): Promise<void> {
  if (readJson(text) === undefined) throw new Failure('The service sent an event that is not JSON.');
  await writeJson(`${text.replace(/[\n\r\t]/g, ' ')}\n`);
  if (forwarder === undefined) return;
  const event = parseEvent(text);
  const note = await forwarded(event, forwarder);
  say(event === undefined ? [note] : [`${event.id}  `, note]);
}

/** Forwards what is known, and gives what to say of it. */
async function forwarded(event: PlantEvent | undefined, forwarder: Forwarder): Promise<string | Styled> {
  return event === undefined ? notForwarded : attemptNote(await forwarder.send(event));
}

/** Says what the receiver verifies with. */
async function forwarderFor(flags: ListenFlags, api: Api, runtime: Runtime): Promise<Forwarder | undefined> {
  const { forwardTo: url } = flags;
  if (url === undefined) return undefined;
  const { createForwarder } = await import('./forward.ts');
  const { secret, named } = secretFor(flags, process.env, runtime);
  const { privateKey, publicKey } = newKeyPair(runtime.random);
  say(`Forwarding to ${url}. Verify with ${named},`);
  say(`or with the public key ${publicKey}.`);
  return createForwarder({ url, keys: { secrets: [secret], privateKey }, source: api.url, runtime });
}

/**
 * What to sign with, and how a person is told of it. An empty environment variable counts as unset. Throws
 * `ConfigError`, which does not repeat the secret.
 */
function secretFor(
  { secret: given }: ListenFlags,
  env: Environment,
  { random }: Runtime,
): { secret: string; named: string } {
  if (given !== undefined) return { secret: given, named: 'your secret' };
  if (env.SECRET) {
    if (!isSecret(env.SECRET)) throw new ConfigError([`SECRET: It must be ${SECRET_RULE}.`]);
    return { secret: env.SECRET, named: 'the secret in SECRET' };
  }
  const secret = newSecret(random);
  return { secret, named: `the secret ${secret}` };
}

const FORWARD_RULE = 'an http or https URL such as http://localhost:4000/hook';

function parseTarget(text: string): string {
  const url = /\s/.test(text) ? null : URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError(`It must be ${FORWARD_RULE}.`);
  }
  if (url.username === '' && url.password === '') return text;
  throw new InvalidArgumentError('It must not carry a user name or a password, which no delivery sends.');
}

const SECRET_RULE = 'whsec_ and base64 of 24 to 64 bytes, as "webhook create" shows it';

function parseSecret(text: string): string {
  if (isSecret(text)) return text;
  throw new InvalidArgumentError(`It must be ${SECRET_RULE}.`);
}

function isSecret(text: string): boolean {
  try {
    const { privateKey } = newKeyPair(Buffer.alloc);
    sign({ id: '', timestamp: 0, body: '', keys: { secrets: [text], privateKey } });
    return true;
  } catch {
    return false;
  }
}
