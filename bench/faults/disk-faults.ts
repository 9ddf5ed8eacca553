import { execFileSync } from 'node:child_process';
import { openSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isInstalled } from '../servers/tools.ts';

/** Faults of the file calls of a process started with `env`. The numbers are those of `diskfault.c`. */
export type DiskFaults = {
  /** Loads the library into a process, to watch its calls below this folder (with links resolved). */
  env(folder: string): Record<string, string>;
  /** Makes the matching calls fail from now on. */
  arm(fault: Fault): void;
  disarm(): void;
  /** How many calls have failed since then. */
  fired(): number;
};

export type Fault = {
  op: keyof typeof ops;
  /** The files to hit; all by default. */
  file?: keyof typeof files;
  /** The first matching call to hit, from 1. */
  nth?: number;
  /** How many to hit from then on; 1 by default. */
  count?: number;
  action?: keyof typeof actions;
  error?: keyof typeof errors;
  delayMs?: number;
};

const ops = {
  write: 1,
  fsync: 2,
  ftruncate: 4,
  open: 8,
  unlink: 16,
  rename: 32,
  link: 64,
  read: 128,
} as const;
const files = { database: 1, log: 2, index: 4, journal: 8, lock: 16, folder: 32, other: 64 } as const;
const actions = {
  ...{ error: 1, short: 2, killBefore: 3, killMid: 4, killAfter: 5, delay: 6, shortThenError: 7 },
  ...{ cutBefore: 8, cutMid: 9, cutAfter: 10, doneButError: 11, lie: 12 },
} as const;
const errors = { EIO: 5, ENOSPC: 28, EROFS: 30, EDQUOT: 122, EACCES: 13, EMFILE: 24 } as const;

const ANY_FILE = 127;
const EVERY_CALL = 0xffff_ffff;
/** Offsets in `struct control`. */
const ARMED = 4;
const SETTINGS = 8;
const COUNTERS = 40;
const FIRED = 48;

/** Why faults cannot be injected here; undefined when they can. */
export function whyNoFaults(): string | undefined {
  if (process.platform !== 'linux') return 'disk faults are injected on Linux only';
  return isInstalled('gcc') ? undefined : 'disk faults need gcc, which is not installed';
}

/** The library, compiled once per process. */
let compiled: Buffer | undefined;

function compileTo(library: string): Buffer {
  const source = fileURLToPath(new URL('diskfault.c', import.meta.url));
  execFileSync('gcc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl', '-lpthread']);
  return readFileSync(library);
}

/** @param folder for the library and its control file; not the watched one */
export function createDiskFaults(folder: string): DiskFaults {
  const library = join(folder, 'diskfault.so');
  if (compiled) writeFileSync(library, compiled);
  else compiled = compileTo(library);
  const control = join(folder, 'diskfault.control');
  writeFileSync(control, Buffer.alloc(4096));
  const fd = openSync(control, 'r+');
  const write = (at: number, ...values: number[]) =>
    void writeSync(fd, new Uint8Array(Uint32Array.from(values).buffer), 0, values.length * 4, at);

  return {
    env: (watched) => ({ LD_PRELOAD: library, DF_CTL: control, DF_DIR: watched }),
    arm({ op, file, nth = 1, count = 1, action = 'error', error = 'EIO', delayMs = 0 }) {
      write(ARMED, 0);
      const hit = Math.min(count, EVERY_CALL);
      const kinds = file ? files[file] : ANY_FILE;
      write(SETTINGS, ops[op], kinds, nth, hit, actions[action], errors[error], delayMs);
      write(COUNTERS, 0, 0, 0, 0);
      write(ARMED, 1);
    },
    disarm: () => write(ARMED, 0),
    fired() {
      const value = Buffer.alloc(8);
      readSync(fd, value, 0, 8, FIRED);
      return Number(value.readBigUInt64LE());
    },
  };
}
