import type { DeliveryState } from '../webhooks/port.ts';

/** The state as stored: a held delivery is a pending one of a disabled webhook. */
export function storedState(state: DeliveryState): Exclude<DeliveryState, 'held'> {
  return state === 'held' ? 'pending' : state;
}

/** The state that no delivery of an enabled, or disabled, webhook can have. */
export function absentState(isDisabled: boolean): DeliveryState {
  return isDisabled ? 'pending' : 'held';
}
