type Words = {
  /** Why it failed, for the end of a sentence. */
  reason: string;
  /** What to do when it keeps the service, or a verb, from its data folder: a sentence. */
  advice: string;
};

const owner: Words = {
  reason: 'this user may not',
  advice:
    'Run it as the user that the data folder belongs to, or give that user all that is in it: chown -R.',
};
const elsewhere = 'Name the data folder with --data-dir or DATA_DIR.';

/** By the code of a failed system call. */
const words: Readonly<Record<string, Words>> = {
  EACCES: owner,
  EPERM: owner,
  EROFS: {
    reason: 'the file system is read-only',
    advice:
      'Mount it for writing. If it became read-only by itself, the system met an error on the disk: see its log, and check the file system.',
  },
  ENOSPC: { reason: 'the disk is full', advice: 'Make room.' },
  EDQUOT: {
    reason: 'the quota of this user is used up',
    advice: 'Make room, or raise the quota.',
  },
  EFBIG: {
    reason: 'the file would be larger than this user, or the file system, may have it',
    advice: 'Raise the limit of file sizes (ulimit -f).',
  },
  EIO: {
    reason: 'the disk reports an error',
    advice: "See the system's log for the disk, and move the data folder to a sound one.",
  },
  EMFILE: {
    reason: 'the process has too many files open',
    advice: 'Raise the limit of open files (ulimit -n).',
  },
  ENOENT: { reason: 'there is no such file or folder', advice: elsewhere },
  ENOTDIR: { reason: 'a part of the path is no folder', advice: elsewhere },
  EISDIR: { reason: 'it is a folder', advice: 'Move it away, or name another data folder with --data-dir.' },
  ELOOP: { reason: 'it is a link, which is not followed', advice: 'Put the file itself in its place.' },
};

/** Why a system call failed, for the end of a sentence; undefined for an error that is none of these. */
export function systemReason(error: unknown): string | undefined {
  return wordsOf(error)?.reason;
}

/** The same, with the code itself for what has no words here. */
export function systemReasonOrCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return systemReason(error) ?? code;
}

/** What to do about it when it is a file of the store; undefined for an error that is none of these. */
export function systemAdvice(error: unknown): string | undefined {
  return wordsOf(error)?.advice;
}

function wordsOf(error: unknown): Words | undefined {
  return error instanceof Error && 'code' in error ? words[String(error.code)] : undefined;
}
