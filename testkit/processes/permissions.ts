import { spawnSync } from 'node:child_process';

const isRoot = process.getuid?.() === 0;

/** Runs another command without capabilities: then even root needs file permissions. Empty for any other user. */
export const WITHOUT_CAPABILITIES = isRoot ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : [];

/** Why a test cannot rely on file permissions; undefined when it can. */
export const whyNoPermissions =
  isRoot && spawnSync('setpriv', [...WITHOUT_CAPABILITIES.slice(1), 'true']).status !== 0
    ? 'root may read and write everything, and setpriv is not there to change that'
    : undefined;
