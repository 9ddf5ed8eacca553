import { delivery } from '../limits.ts';

export const rateRule = `an integer from 1 to ${delivery.rate}`;

/** Attempts per second; undefined for what does not satisfy `rateRule`. */
export function readRate(text: string): number | undefined {
  const rate = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN;
  return rate <= delivery.rate ? rate : undefined;
}
