import { ConfigError, type Environment, type Flags, readConfig } from '../../config/config.ts';
import { checks as limits } from '../limits.ts';
import { type Finding, ok, problem, warning } from './check.ts';

/** The oldest supported Node. */
const OLDEST_NODE = 26;

export function checkNode(version: string = process.versions.node): Finding[] {
  const major = Number(version.split('.')[0]);
  if (major >= OLDEST_NODE) return [ok('Node', version)];
  return [
    problem(
      'Node',
      `${version} is too old`,
      `Install Node ${OLDEST_NODE} or newer, or run npm ci, which installs one.`,
    ),
  ];
}

/** Reports all invalid settings at once. */
export function checkSettings(env: Environment, flags: Flags): Finding[] {
  try {
    readConfig(env, flags);
    return [ok('Settings', 'valid')];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((text) =>
      problem('Settings', text, 'Correct it: docs/reference/configuration.md lists every setting.'),
    );
  }
}

/**
 * Compares this machine's clock with another, since signatures, expiry times and the order of events depend on it.
 *
 * @param whose names the other clock
 * @param precisionMs the resolution of the other clock plus the time it took to ask
 */
export function compareClocks(whose: string, aheadMs: number, precisionMs: number): Finding {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (Math.abs(aheadMs) - precisionMs < limits.clockMs) return ok('Clock', `agrees with ${whose}`);
  return warning(
    'Clock',
    `is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ${whose}`,
    'Synchronize both clocks with NTP: timedatectl shows whether this machine does.',
  );
}

/** The newest event cannot be in the future. */
export function checkClock(newestEventAt: number | undefined, now: number): Finding[] {
  if (newestEventAt === undefined) return [];
  if (newestEventAt - now < limits.clockMs)
    return [ok('Clock', `${new Date(now).toISOString()}, after the newest event`)];
  const seconds = Math.round((newestEventAt - now) / 1000);
  return [
    warning(
      'Clock',
      `${new Date(now).toISOString()} is ${seconds} s before the newest event in the store: the clock is or was wrong`,
      'Set the clock. Events stay in order, but token expiry and retries depend on it.',
    ),
  ];
}
