import { ConfigError, type Environment, type Flags, readConfig } from '../../config/config.ts';
import { checks as limits } from '../limits.ts';
import { type Finding, ok, problem, warning } from './check.ts';

/** The oldest Node that runs the program as it is. */
const OLDEST_NODE = 26;

export function checkNode(version: string = process.versions.node): Finding[] {
  const major = Number(version.split('.')[0]);
  if (major >= OLDEST_NODE) return [ok('Node', version)];
  return [
    problem(
      'Node',
      `${version} is too old`,
      `Install Node ${OLDEST_NODE} or newer, or run npm ci, which brings one.`,
    ),
  ];
}

/** Every wrong setting at once. */
export function checkSettings(env: Environment, flags: Flags): Finding[] {
  try {
    readConfig(env, flags);
    return [ok('Settings', 'can be used')];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((text) =>
      problem('Settings', text, 'Correct it: docs/reference/configuration.md has every setting.'),
    );
  }
}

/**
 * How this machine's clock stands to another one. Signatures, expiries and the order of events go by it.
 *
 * @param whose the other clock, in a few words
 * @param precisionMs how finely the other one tells the time, and how long it took to ask
 */
export function compareClocks(whose: string, aheadMs: number, precisionMs: number): Finding {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (Math.abs(aheadMs) - precisionMs < limits.clockMs) return ok('Clock', `agrees with ${whose}`);
  return warning(
    'Clock',
    `is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ${whose}`,
    'Let both machines set their clocks over the network (NTP): timedatectl shows whether this one does.',
  );
}

/** The newest event cannot be of the future. */
export function checkClock(newestEventAt: number | undefined, now: number): Finding[] {
  if (newestEventAt === undefined) return [];
  if (newestEventAt - now < limits.clockMs)
    return [ok('Clock', `${new Date(now).toISOString()}, after the newest event`)];
  const seconds = Math.round((newestEventAt - now) / 1000);
  return [
    warning(
      'Clock',
      `${new Date(now).toISOString()} is ${seconds} s before the newest event in the store: it was, or is, wrong`,
      'Set it. The order of events is kept, but tokens expire, and retries come, by it.',
    ),
  ];
}
