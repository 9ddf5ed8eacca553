import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../servers/cleanup.ts';
import { isInstalled } from '../../servers/tools.ts';

/** A replica that runs as if on a separate machine. */
export type OtherHost = {
  /** Added to the wall clock. */
  clockSeconds?: number;
  /** The address from which it connects to a port, so that a receiver can distinguish replicas. */
  address?: { from: string; toPort: number };
};

/** Why this is not possible here; undefined when it is. */
export function whyNoOtherHost(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  return isInstalled('gcc') ? undefined : 'needs gcc, which is not installed';
}

let library: string | undefined;

/** For the environment of a replica. Throws when its clock is wrong. */
export function asOtherHost({ clockSeconds = 0, address }: OtherHost): Record<string, string> {
  library ??= build();
  const env = {
    LD_PRELOAD: library,
    OH_CLOCK_S: String(clockSeconds),
    ...(address && { OH_ADDRESS: address.from, OH_PORT: String(address.toPort) }),
  };
  const said = execFileSync(process.execPath, ['-p', 'Date.now()'], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  const off = (Number(said) - Date.now()) / 1000 - clockSeconds;
  if (Math.abs(off) > TOLERATED_S) throw new Error(`The clock is ${off} s off what it should be`);
  return env;
}

/** The duration of a start on a busy machine. */
const TOLERATED_S = 10;

function build(): string {
  const path = join(temporaryFolder().path, 'other-host.so');
  const source = fileURLToPath(new URL('other-host.c', import.meta.url));
  execFileSync('gcc', ['-O2', '-shared', '-fPIC', '-o', path, source, '-ldl']);
  return path;
}
