import { randomUUID } from 'node:crypto';
import { type Command, InvalidArgumentError } from 'commander';
import { idempotency as limits } from '../limits.ts';
import { Id, MAX_ID, MIN_ID, type PlantId, plantJson } from '../plants/plant.ts';
import { call } from './api.ts';
import { ApiFailure } from './api-failure.ts';
import { type Api, type ApiFlags, addApiOptions, readApi } from './api-options.ts';
import { examplesFirst } from './examples.ts';
import { Failure } from './failure.ts';
import { persist } from './retry.ts';
import { print, say, shellWord, writeJson } from './terminal.ts';

/** `plant create NAME` */
export function plantCreate(plant: Command): void {
  const command = plant
    .command('create')
    .description('create a plant and print its id')
    .argument('<name>', 'what it is called')
    .option('--tag <text>', 'a tag; an empty one is another thing than none')
    .option('--id <number>', `${Id.description} (default: the next free one)`, parseId)
    .option(
      '--key <key>',
      `sent again with the same key, it is created once: 1 to ${limits.keyLength} printable ASCII characters (default: a new one)`,
      parseKey,
    )
    .option('--json', 'print {id, name, tag} as a JSON object')
    .configureHelp(
      examplesFirst(
        'plant create Alder',
        "plant create 'Bur oak' --tag Quercus --id 9007199254740993",
        'plant create Alder --key order-1042',
      ),
    )
    .action(run);
  addApiOptions(command);
}

type CreateFlags = ApiFlags & { tag?: string; id?: PlantId; key?: string; json?: true };

async function run(name: string, flags: CreateFlags): Promise<void> {
  const api = readApi(process.env, flags);
  const { id, isReplay } = await create(api, name, flags);
  if (flags.json) await writeJson(`${plantJson({ id, name, tag: flags.tag })}\n`);
  else print(String(id));
  say(isReplay ? 'It was created before, with the same key.' : `Created the plant "${name}".`);
}

type Created = { id: PlantId; isReplay: boolean };

/** The id, whether it was given or not. Throws a `Failure` that says how to find out what is unknown. */
async function create(api: Api, name: string, flags: CreateFlags): Promise<Created> {
  const { tag, id, key = `cli-${randomUUID()}` } = flags;
  const body = { name, tag, id: id === undefined ? undefined : JSON.rawJSON(String(id)) };
  const hint = ` With --key ${shellWord(key)} the same command creates it once.`;
  try {
    const { headers } = await persist(() => call(api, 'POST', '/plants', { body, idempotencyKey: key }), {
      hint,
    });
    const [, made] = /\/plants\/(-?\d+)$/.exec(headers.get('location') ?? '') ?? [];
    if (made === undefined) throw new Failure('The plant was created, but the answer does not say its id.');
    return { id: BigInt(made), isReplay: flags.key !== undefined && headers.has('idempotent-replayed') };
  } catch (error) {
    throw isDoubtful(error) ? new Failure(error.message + hint, { cause: error }) : error;
  }
}

/** Whether the plant may have been created all the same. */
function isDoubtful(error: unknown): error is ApiFailure {
  if (!(error instanceof ApiFailure)) return false;
  return error.lacks === 'answer' || (error.status ?? 0) >= 500;
}

function parseId(text: string): PlantId {
  const id = /^(?:0|-?[1-9]\d{0,18})$/.test(text) ? BigInt(text) : undefined;
  if (id !== undefined && id >= MIN_ID && id <= MAX_ID) return id;
  throw new InvalidArgumentError(`It must be ${Id.description}.`);
}

function parseKey(text: string): string {
  if (/^[\x20-\x7e]+$/.test(text) && text.length <= limits.keyLength) return text;
  throw new InvalidArgumentError(`A key has 1 to ${limits.keyLength} printable ASCII characters.`);
}
