import { type Command, InvalidArgumentError } from 'commander';
import { type Runtime, silentLog, systemRuntime } from '../runtime.ts';
import { newKeyPair, newSecret, sign } from '../webhooks/signature.ts';
import { type Api, type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { followEvents } from './event-stream.ts';
import { attemptNote, eventLine, parseEvent } from './event-view.ts';
import { examples } from './examples.ts';
import type { Forwarder } from './forward.ts';
import { stopSignal } from './signals.ts';
import { outputAbandoned, print, say } from './terminal.ts';

/** `listen` */
export function listen(command: Command): void {
  command
    .option('--forward-to <url>', `send each event to ${FORWARD_RULE}, signed as a delivery is`, parseTarget)
    .option(
      '--secret <secret>',
      'what to sign with: whsec_… (default: a new one, which is shown)',
      parseSecret,
    )
    .option('--json', 'print each event as a JSON object on a line of its own')
    .addHelpText(
      'after',
      examples(
        'listen',
        'listen --forward-to http://localhost:4000/hook',
        'listen --json | jq --unbuffered -r .plant.name',
      ) +
        '\n\nShows the events from now on, until Ctrl+C. A connection that breaks off is opened again where it was. With\n' +
        '--forward-to each event is sent once, in order, to a receiver on your own machine or anywhere else; the answer\n' +
        'stands behind the line, or on standard error with --json. A secret on the command line is visible to everybody on the\n' +
        'machine, as a token is.',
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
  const line = eventLine(event, process.stdout);
  if (forwarder === undefined) return print(line);
  process.stdout.write(`${line}  `);
  print(attemptNote(await forwarder.send(event), process.stdout));
}

/** The text as it came, so that no digit is lost. */
async function showJson(text: string, forwarder: Forwarder | undefined): Promise<void> {
  print(text);
  if (forwarder === undefined) return;
  const event = parseEvent(text);
  say(`${event.id}  ${attemptNote(await forwarder.send(event), process.stderr)}`);
}

/** Says what the receiver verifies with. */
async function forwarderFor(
  { forwardTo: url, secret: given }: ListenFlags,
  api: Api,
  runtime: Runtime,
): Promise<Forwarder | undefined> {
  if (url === undefined) return undefined;
  const { createForwarder } = await import('./forward.ts');
  const secret = given ?? newSecret(runtime.random);
  const { privateKey, publicKey } = newKeyPair(runtime.random);
  say(`Forwarding to ${url}. Verify with ${given === undefined ? `the secret ${secret}` : 'your secret'},`);
  say(`or with the public key ${publicKey}.`);
  return createForwarder({ url, keys: { secrets: [secret], privateKey }, source: api.url, runtime });
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

function parseSecret(text: string): string {
  try {
    const { privateKey } = newKeyPair(Buffer.alloc);
    sign({ id: '', timestamp: 0, body: '', keys: { secrets: [text], privateKey } });
    return text;
  } catch {
    throw new InvalidArgumentError(
      'It must be whsec_ and base64 of 24 to 64 bytes, as "webhook create" shows it.',
    );
  }
}
