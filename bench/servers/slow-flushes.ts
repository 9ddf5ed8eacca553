/**
 * A command prefix that slows each disk flush down. Only flushes are traced, so that other system calls cost nothing.
 * `log` is a file for strace.
 */
export function slowFlushes(log: string, extraMs: number): string[] {
  const calls = 'fsync,fdatasync';
  return [
    ...['strace', '-f', '--seccomp-bpf', '-qq', '-o', log, '-e', `trace=${calls}`],
    ...['-e', `inject=${calls}:delay_exit=${extraMs * 1000}`],
  ];
}
