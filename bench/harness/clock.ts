/** Milliseconds of a clock that nobody sets, and that all threads and processes of a machine share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
