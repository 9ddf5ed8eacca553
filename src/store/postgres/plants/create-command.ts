import type { Caller } from '../../../idempotency/port.ts';
import type { PlantId } from '../../../plants/plant.ts';
import type { NewPlant } from '../../../plants/port.ts';
import type { KEY_USED, USER_GONE } from '../../once.ts';

export type Create = { plant: NewPlant; caller: Caller | undefined };

/** The id of the plant, null when it is taken, or why nothing was done. */
export type Created = PlantId | null | 'full' | 'spent' | typeof USER_GONE | typeof KEY_USED;
