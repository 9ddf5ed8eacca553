import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { checks as limits } from '../limits.ts';
import { systemAdvice } from '../service/system-failure.ts';
import { sizeText } from '../terminal/progress.ts';
import { shellWord } from '../terminal/terminal.ts';
import { type Finding, ok, problem, reasonIn, warning } from './check.ts';

const NAME = 'Data folder';

export function checkFolder(folder: string): Finding[] {
  return [modeOf(folder), spaceOf(folder), ...fileSystemOf(folder)];
}

/** Why nothing in the folder can be read; undefined for a usable one. */
export function whyUnusable(folder: string): Finding | undefined {
  let trouble = 'cannot be examined';
  try {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats === undefined) {
      const advice = 'Pass the same DATA_DIR or --data-dir as to serve; the first start creates it.';
      return warning(NAME, `${folder} does not exist`, advice);
    }
    if (!stats.isDirectory()) {
      return problem(NAME, `${folder} is not a folder`, 'Pass another with DATA_DIR or --data-dir.');
    }
    trouble = `belongs to the user with id ${stats.uid}, and this user cannot write to it`;
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return problem(NAME, `${folder} ${trouble} (${reasonIn(error)})`, systemAdvice(error) ?? '');
  }
}

const OTHERS = 0o077;

function modeOf(folder: string): Finding {
  const { mode } = statSync(folder);
  const shown = (mode & 0o777).toString(8).padStart(4, '0');
  if (process.platform === 'win32' || (mode & OTHERS) === 0) return ok(NAME, `${folder}, ${shown}`);
  const text = `${folder} has mode ${shown}: other users can read the secrets in the store`;
  return warning(NAME, text, `chmod 700 ${shellWord(folder)}`);
}

function spaceOf(folder: string): Finding {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const text = `${sizeText(free)} free`;
  const advice = 'Free up space: without it the service refuses creates with 503 50302, and backups fail.';
  if (free < limits.freeBytes.problem) return problem('Disk', text, advice);
  return free < limits.freeBytes.warning ? warning('Disk', text, advice) : ok('Disk', text);
}

const LOCKS_FAIL = 'file locks do not work there, so the store can be corrupted';
const GONE = 'its content disappears with';

/** By Linux's file system type number (statfs(2)). */
const fileSystems: Readonly<Record<number, readonly [name: string, why: string, verdict: typeof warning]>> = {
  26985: ['NFS', LOCKS_FAIL, problem],
  20859: ['SMB', LOCKS_FAIL, problem],
  4283649346: ['CIFS', LOCKS_FAIL, problem],
  4266872130: ['SMB 2', LOCKS_FAIL, problem],
  16914839: ['9P', LOCKS_FAIL, problem],
  12805120: ['Ceph', LOCKS_FAIL, warning],
  1702057286: ['FUSE', 'whether locks and flushes work there depends on its driver', warning],
  16914836: ['tmpfs', `${GONE} a reboot`, warning],
  2035054128: ['overlayfs', `${GONE} the container`, warning],
};

function fileSystemOf(folder: string): Finding[] {
  if (process.platform !== 'linux') return [];
  const found = fileSystems[statfsSync(folder).type];
  if (found === undefined) return [];
  const [name, why, verdict] = found;
  const text = `${folder} is on ${name}: ${why}`;
  return [verdict('File system', text, 'Put the data folder on a local disk, or a volume.')];
}
