/** Why it failed, for the end of a sentence; a sentence: what to do when it is a file of the store. */
type Words = readonly [reason: string, advice: string];

const owner: Words = [
  'permission denied',
  'Run it as the owner of the data folder, or give that user everything in it: chown -R.',
];
const elsewhere = 'Pass the data folder with --data-dir or DATA_DIR.';

const words: Readonly<Record<string, Words>> = {
  EACCES: owner,
  EPERM: owner,
  EROFS: [
    'the file system is read-only',
    "Mount it for writing. If it became read-only by itself, the disk has errors: check the system's log and the file system.",
  ],
  ENOSPC: ['the disk is full', 'Free up space; if df shows some, the inodes are used up (df -i).'],
  EDQUOT: ["this user's disk quota is exceeded", 'Free up space, or raise the quota.'],
  EFBIG: [
    'the file would exceed the size limit of this user or the file system',
    'Raise the file size limit (ulimit -f).',
  ],
  EIO: ['the disk reports an error', "Check the system's log, and move the data folder to a healthy disk."],
  EMFILE: ['the process has too many files open', 'Raise the open files limit (ulimit -n).'],
  EEXIST: ['a file of that name exists', elsewhere],
  ENOENT: ['no such file or folder', elsewhere],
  ENOTDIR: ['a part of the path is not a folder', elsewhere],
  EISDIR: ['it is a folder', 'Move it away, or pass another data folder with --data-dir.'],
  ELOOP: ['it is a link, which is not followed', 'Replace it with the file itself.'],
};

/** Why a system call failed, for the end of a sentence; undefined for other errors. */
export function systemReason(error: unknown): string | undefined {
  return words[codeOf(error) ?? '']?.[0];
}

/** The same, or the error code when no reason is known. */
export function systemReasonOrCode(error: unknown): string {
  return systemReason(error) ?? codeOf(error) ?? String(error);
}

/** What to do when it is a file of the store; undefined for other errors. */
export function systemAdvice(error: unknown): string | undefined {
  return words[codeOf(error) ?? '']?.[1];
}

/** The code of a failed system call, such as `ENOENT`; undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
