import type { DeliveryState } from '../webhooks/port.ts';

/** What stands in the table: a held delivery is a pending one of a disabled webhook. */
export function storedState(state: DeliveryState): Exclude<DeliveryState, 'held'> {
  return state === 'held' ? 'pending' : state;
}

/** The state that no delivery of a webhook has, as it is enabled or disabled. */
export function absentState(isDisabled: boolean): DeliveryState {
  return isDisabled ? 'pending' : 'held';
}
