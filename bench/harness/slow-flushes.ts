/**
 * What stands before a command so that each flush of the disk takes longer. Nothing but flushes is traced, so that the
 * other system calls cost nothing. `log` is a file that strace may write to.
 */
export function slowFlushes(log: string, extraMs: number): string[] {
  const calls = 'fsync,fdatasync';
  return [
    ...['strace', '-f', '--seccomp-bpf', '-qq', '-o', log, '-e', `trace=${calls}`],
    ...['-e', `inject=${calls}:delay_exit=${extraMs * 1000}`],
  ];
}
