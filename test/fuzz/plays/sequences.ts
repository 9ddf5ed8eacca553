import type { Client } from '../client.ts';
import { type Command, type Sequence, type Sides, sequences } from '../commands.ts';
import { clientOf, type Ground } from '../ground.ts';
import type { Property } from '../property.ts';
import { expect, type Stage, withTrail } from '../stage.ts';
import { addShare, type Person, removeShare, type World } from '../world.ts';
import * as onEvents from './play-events.ts';
import * as onPlants from './play-plants.ts';
import * as retries from './play-retries.ts';
import * as onWebhooks from './play-webhooks.ts';

/** The most concurrent requests. */
const TOGETHER = 4;

/** Sequences of requests of two or three users; compares each answer with a model of the store. */
export function sequencesOf(ground: Ground, name: string): Property<Sequence> {
  const client = clientOf(ground);
  const clients = Array.from({ length: TOGETHER }, () => clientOf(ground));
  return {
    name,
    arbitrary: sequences,
    async check(sequence: Sequence) {
      const world = await newWorld(ground, sequence.names, clients);
      const stage = { ground, world, client };
      try {
        for (const command of sequence.commands) await play(stage, command);
        await lookAtEverything(stage);
      } catch (error) {
        throw withTrail(error, world);
      }
    },
    async end() {
      for (const one of [client, ...clients]) one.close();
    },
  };
}

async function newWorld(
  ground: Ground,
  names: readonly string[],
  clients: readonly Client[],
): Promise<World> {
  const people: Person[] = [];
  for (const [index, start] of names.entries()) {
    const name = `${start} ${ground.next()}`;
    await ground.newUser(name);
    people.push({
      index,
      name,
      token: await ground.newToken(name),
      plants: new Map(),
      webhooks: [],
      sharing: new Set(),
      kept: new Map(),
      feed: undefined,
    });
  }
  return { people, log: [], trail: [], clients };
}

async function play(stage: Stage, command: Command): Promise<void> {
  if (command.kind === 'share' || command.kind === 'unshare') return changeShare(stage, command);
  const person = at(stage, command.by);
  switch (command.kind) {
    case 'create':
      return onPlants.create(stage, person, command);
    case 'createOnce':
      return retries.createOnce(stage, person, command);
    case 'createTogether':
      return retries.createTogether(stage, person, command);
    case 'createAndLeave':
      return retries.createAndLeave(stage, person, command);
    case 'delete':
      return onPlants.remove(stage, person, command);
    case 'list':
      return onPlants.list(stage, person, command);
    case 'walk':
      return onPlants.walk(stage, person, command, (inner) => play(stage, inner));
    case 'events':
      return onEvents.events(stage, person, command);
    case 'stream':
      return onEvents.stream(stage, person);
    case 'createWebhook':
      return onWebhooks.createWebhook(stage, person, command);
    case 'changeWebhook':
      return onWebhooks.changeWebhook(stage, person, command);
    case 'readWebhooks':
      return onWebhooks.readWebhooks(stage, person, command);
    case 'testWebhook':
      return onWebhooks.testWebhook(stage, person, command);
    case 'deleteWebhook':
      return onWebhooks.deleteWebhook(stage, person, command);
    case 'listDeliveries':
      return onWebhooks.listDeliveries(stage, person, command);
    case 'listAllDeliveries':
      return onWebhooks.listAllDeliveries(stage, person, command);
  }
}

/** Changes the store directly, like the command line; takes effect on the next request. */
async function changeShare(stage: Stage, { kind, ...sides }: Extract<Command, Sides>): Promise<void> {
  const [owner, viewer] = [at(stage, sides.owner), at(stage, sides.viewer)];
  // With two people, the third number means one of them again.
  if (owner === viewer) return;
  const { store, now } = stage.ground;
  stage.world.trail.push(
    () =>
      `plant-store share ${kind === 'share' ? 'add' : 'remove'} --owner ${owner.name} --viewer ${viewer.name}`,
  );
  const names = { owner: owner.name, viewer: viewer.name };
  const before = viewer.sharing.has(owner);
  if (kind === 'share') {
    const outcome = await store.access.addShare({ ...names, at: now() }, 1_000);
    expect(outcome === (before ? 'shared before' : 'shared'), `the share is ${outcome}`);
    addShare(owner, viewer);
  } else {
    expect((await store.access.removeShare(names)) === before, 'a share that was there, or was not');
    if (before) removeShare(owner, viewer);
  }
  await stage.ground.settled();
}

/** Compares everything that everyone has in the end. */
async function lookAtEverything(stage: Stage): Promise<void> {
  for (const person of stage.world.people) {
    const by = person.index;
    await play(stage, { kind: 'list', by, limit: undefined, fields: ['id', 'name', 'tag', 'owner'] });
    await play(stage, { kind: 'walk', by, limit: 3, between: [] });
    await play(stage, { kind: 'events', by, limit: 1_000, fromStart: true });
  }
}

function at({ world }: Stage, index: number): Person {
  const person = world.people[index % world.people.length];
  if (person === undefined) throw new Error('A world has people.');
  return person;
}
