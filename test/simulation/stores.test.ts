import { describe } from 'node:test';
import { given } from '../../testkit/stores/given.ts';
import { lanesConformance } from '../store/conformance/lanes.ts';
import { outcomesConformance } from '../store/conformance/outcomes.ts';
import { resendsConformance } from '../store/conformance/resends.ts';
import { openStoreInMemory } from './stores/store-in-memory.ts';

describe("the simulation's store", () => {
  const opened = openStoreInMemory();
  const ready = given(opened.store, opened);
  lanesConformance(() => ready);
  outcomesConformance(() => ready);
  resendsConformance(() => ready);
});
