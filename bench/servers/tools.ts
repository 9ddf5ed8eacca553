import { spawnSync } from 'node:child_process';

/** True when the command is on the PATH. */
export function isInstalled(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
}

/** Servers run on one core and the load on the other, so that neither takes CPU from the other. */
export const SERVER_CORE = 0;
export const LOAD_CORE = 1;

const hasTaskset = isInstalled('taskset');

/** The command line that runs a command on one core; unchanged without `taskset`. */
export function pinned(core: number | undefined, command: string[]): [file: string, args: string[]] {
  const line = core === undefined || !hasTaskset ? command : ['taskset', '-c', String(core), ...command];
  const [file = '', ...args] = line;
  return [file, args];
}

/** Moves this process to the load's core. False without `taskset`. */
export function pinSelf(): boolean {
  if (!hasTaskset) return false;
  return spawnSync('taskset', ['-acp', String(LOAD_CORE), String(process.pid)]).status === 0;
}
