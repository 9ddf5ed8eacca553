import { startHousekeeper as start } from '../../src/webhooks/housekeeper.ts';
import { replaceModule } from './replace-module.ts';

/** The service with a retention of two minutes, which removes what is older every ten seconds; load it first. */

replaceModule('src/webhooks/housekeeper.ts', import.meta.url);

const RETENTION_DAYS = 2 / (24 * 60);
const EVERY_MS = 10_000;

export const startHousekeeper: typeof start = (parts) =>
  start({ ...parts, retentionDays: RETENTION_DAYS, bounds: { ...parts.bounds, retentionEveryMs: EVERY_MS } });
