import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Linux's figures about processes in /proc. Times are in seconds, sizes in bytes. */

/** Linux reports times in hundredths of a second, whatever the kernel's tick. */
const TICKS = 100;
const KIB = 1024;

/** The CPU time of a process with all its threads, in user space and in the kernel. */
export function cpuSeconds(pid: number): number {
  const fields = statOf(pid);
  return (at(fields, UTIME) + at(fields, UTIME + 1)) / TICKS;
}

/** The CPU time of this process's ended children. */
export function endedChildrenCpuSeconds(): number {
  const fields = statOf(process.pid);
  return (at(fields, UTIME + 2) + at(fields, UTIME + 3)) / TICKS;
}

/** The CPU time of all processes, on all cores. */
export function machineCpuSeconds(): number {
  const [, user, nice, system] = readFileSync('/proc/stat', 'utf8').split(/\s+/);
  return (Number(user) + Number(nice) + Number(system)) / TICKS;
}

export function residentBytes(pid: number): number {
  return statusKib(pid, 'VmRSS') * KIB;
}

/** The largest resident size since the start of the process, or since `forgetPeak`. */
export function peakResidentBytes(pid: number): number {
  return statusKib(pid, 'VmHWM') * KIB;
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** The process at the end of a chain of wrappers: strace's child, not strace. */
export function innermost(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  for (const thread of threads) {
    const [child] = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ');
    if (child) return innermost(Number(child));
  }
  return pid;
}

/** The position of `utime` after the command's name; stime, cutime and cstime follow. */
const UTIME = 11;

function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the command may contain blanks and parentheses.
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function at(fields: string[], index: number): number {
  return Number(fields[index] ?? 0);
}

function statusKib(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
}
