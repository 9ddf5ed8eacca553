import { codeOf } from '../../../testkit/contract/answers.ts';
import { openRaw } from '../../../testkit/sockets/raw-client.ts';
import type { Command, TogetherMode } from '../commands.ts';
import { bytesOf } from '../draft.ts';
import type { Answered } from '../ground.ts';
import {
  ask,
  draftFor,
  expect,
  expectCode,
  expectRepetition,
  isReplayed,
  post,
  type Stage,
} from '../stage.ts';
import type { Person } from '../world.ts';
import { created, plantNamed, textOf } from './play-plants.ts';

type Of<Kind extends Command['kind']> = Extract<Command, { kind: Kind }>;

/** The service must distinguish bodies under one key, but not spellings of the key. */
export async function createOnce(
  stage: Stage,
  person: Person,
  { key, isQuoted, version, id }: Of<'createOnce'>,
): Promise<void> {
  const plant = plantNamed(`${person.index} key ${key} version ${version} ${id}`, undefined);
  const { answer, isFirst } = await post(stage, person, {
    operation: 'createPlant',
    path: '/plants',
    body: textOf(plant, id),
    key: isQuoted ? `"plant-${key}"` : `plant-${key}`,
  });
  if (isFirst) created(stage, person, plant, id, answer);
}

/** Of concurrent creates with one id or one key, exactly one has an effect. */
export async function createTogether(
  stage: Stage,
  person: Person,
  { times, id, mode }: Of<'createTogether'>,
): Promise<void> {
  const number = stage.ground.next();
  const key = mode === 'plain' ? undefined : `together-${number}`;
  const plants = Array.from({ length: times }, (_, i) =>
    plantNamed(`together ${number} ${mode === 'key' ? '' : mode === 'other' ? i % 2 : i}`, undefined),
  );
  const ids = mode === 'plain' ? (id ?? 1000n) : id;
  const answers = await Promise.all(
    plants.map((plant, i) => {
      const client = stage.world.clients[i];
      const body = textOf(plant, ids);
      return ask(stage, person, {
        operation: 'createPlant',
        path: '/plants',
        body,
        key,
        ...(client ? { client } : {}),
      });
    }),
  );
  const first = answers.findIndex((answer) => isFirstOf(mode, answer));
  const winner = answers[first === -1 ? 0 : first];
  const plant = plants[first === -1 ? 0 : first];
  expect(winner !== undefined && plant !== undefined, 'no answer');
  created(stage, person, plant, ids, winner);
  for (const [i, answer] of answers.entries()) {
    if (answer === winner) continue;
    if (mode === 'plain') expectCode(answer, 40900);
    else if (plants[i]?.name !== plant.name)
      expect(isOneOf(answer, 42200, 40901), '42200 or 40901 was expected');
    else if (codeOf(answer) !== 40901) expectRepetition(answer, winner);
  }
  if (key !== undefined) await repeatTogether(stage, person, { key, body: textOf(plant, ids) }, winner);
}

/** Completes the first request, so that no repetition finds it running. */
async function repeatTogether(
  stage: Stage,
  person: Person,
  { key, body }: { key: string; body: string },
  first: Answered,
): Promise<void> {
  const bodies = ['{"name":"another"}', body, body];
  const [other, ...same] = await Promise.all(
    bodies.map((text, i) => {
      const client = stage.world.clients[i];
      const request = { operation: 'createPlant', path: '/plants', body: text, key };
      return ask(stage, person, client ? { ...request, client } : request);
    }),
  );
  if (other) expectCode(other, 42200);
  for (const answer of same) expectRepetition(answer, first);
}

/** The client disconnects before the answer, and repeats the request until it has one. */
export async function createAndLeave(
  stage: Stage,
  person: Person,
  { id }: Of<'createAndLeave'>,
): Promise<void> {
  const number = stage.ground.next();
  const plant = plantNamed(`left ${number}`, 'left');
  const request = {
    operation: 'createPlant',
    path: '/plants',
    body: textOf(plant, id),
    key: `left-${number}`,
  };
  const connection = await openRaw(stage.ground.service.port);
  await connection.send(bytesOf(draftFor(person, 'POST', request)));
  connection.close();
  const again = async () => {
    let answer = await ask(stage, person, request);
    while (codeOf(answer) === 40901) answer = await ask(stage, person, request);
    return answer;
  };
  const answer = await again();
  created(stage, person, plant, id, answer);
  expectRepetition(await again(), answer);
}

function isFirstOf(mode: TogetherMode, answer: Answered): boolean {
  if (mode === 'plain') return answer.status === 201;
  return (answer.status === 201 || codeOf(answer) === 40900) && !isReplayed(answer);
}

function isOneOf(answer: Answered, ...codes: number[]): boolean {
  return codes.includes(codeOf(answer) ?? 0);
}
