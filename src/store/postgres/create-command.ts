import type { Caller } from '../../idempotency.ts';
import type { PlantId } from '../../plants/plant.ts';
import type { NewPlant } from '../../plants/port.ts';
import type { KEY_USED, USER_GONE } from '../once.ts';

export type Create = { plant: NewPlant; caller: Caller | undefined };

/** The store cannot choose an id in a statement of many: the largest one is taken. */
export const NO_ID_ABOVE = 'no id above';

/** The id of the plant, null when it is taken, 'full', or why nothing was done. */
export type Created = PlantId | null | 'full' | typeof USER_GONE | typeof KEY_USED | typeof NO_ID_ABOVE;
