import type { Caller } from '../../../idempotency/port.ts';
import type { NewPlant } from '../../../plants/port.ts';
import type { Created, KEY_USED, USER_GONE } from '../../write-outcomes.ts';

export type Create = { plant: NewPlant; caller: Caller | undefined };

export type CreateResult = Created | typeof USER_GONE | typeof KEY_USED;
