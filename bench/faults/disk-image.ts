import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atEnd } from '../servers/cleanup.ts';
import { isInstalled } from '../servers/tools.ts';
import { whyNoFaults } from './disk-faults.ts';

export const fileSystems = ['ext4', 'xfs'] as const;
export type FileSystem = (typeof fileSystems)[number];

/** A mounted file system in a file, whose power can be cut. */
export type DiskImage = {
  /** Where it is mounted. */
  mount: string;
  /** From now on nothing reaches the disk. End every process with open files there before the power returns. */
  cut(): void;
  /** Restores the power: what reached the disk is there again. */
  powerUp(): Promise<void>;
  dispose(): Promise<void>;
};

export type ImageOptions = {
  /** The folder for the image's file and the mount; may itself be on another file system. */
  folder: string;
  fileSystem: FileSystem;
  mebibytes: number;
  /** Whether every block of the file is allocated. */
  isDense?: boolean;
};

/** Why there can be no images here; undefined when there can. */
export function whyNoImages(): string | undefined {
  if (process.getuid?.() !== 0) return 'file systems are mounted, which needs root';
  const missing = ['mkfs.ext4', 'mkfs.xfs', 'xfs_io', 'fallocate'].filter((tool) => !isInstalled(tool));
  return missing.length > 0 ? `${missing.join(', ')}: not installed` : whyNoFaults();
}

export function createDiskImage({ folder, fileSystem, mebibytes, isDense }: ImageOptions): DiskImage {
  const mount = join(folder, 'mount');
  const file = join(folder, 'image');
  const cutter = join(folder, 'fscut');
  mkdirSync(mount, { recursive: true });
  if (!existsSync(cutter)) {
    execFileSync('gcc', ['-O2', '-o', cutter, fileURLToPath(new URL('fscut.c', import.meta.url))]);
  }
  rmSync(file, { force: true });
  writeFileSync(file, '');
  truncateSync(file, mebibytes * 2 ** 20);
  if (isDense) execFileSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=1M', `count=${mebibytes}`], QUIET);
  execFileSync(`mkfs.${fileSystem}`, [...MKFS[fileSystem], file]);
  const mountIt = () => execFileSync('mount', ['-o', 'loop', file, mount]);
  mountIt();
  const forget = atEnd(() => spawnSync('umount', ['--lazy', mount]));
  return {
    mount,
    cut: () => void execFileSync(cutter, [mount]),
    async powerUp() {
      await unmount(mount);
      mountIt();
    },
    async dispose() {
      await unmount(mount);
      forget();
      rmSync(file);
    },
  };
}

const QUIET = { stdio: 'ignore' } as const;

/** Discards would make a dense file sparse. */
const MKFS = {
  ext4: ['-q', '-F', '-m', '0', '-E', 'nodiscard,lazy_itable_init=0,lazy_journal_init=0'],
  xfs: ['-q', '-f', '-K'],
} as const;

const UNMOUNT_TRIES = 200;

/** A killed process may hold it for a moment longer. */
export async function unmount(mount: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { status, stderr } = spawnSync('umount', [mount], { encoding: 'utf8' });
    if (status === 0) return;
    if (tries === UNMOUNT_TRIES) throw new Error(stderr);
    await sleep(20);
  }
}
