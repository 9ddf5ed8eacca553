type Words = {
  /** Why it failed, for the end of a sentence. */
  reason: string;
  /** A sentence: what to do when it is a file of the store. */
  advice: string;
};

const owner: Words = {
  reason: 'permission denied',
  advice: 'Run it as the owner of the data folder, or give that user everything in it: chown -R.',
};
const elsewhere = 'Pass the data folder with --data-dir or DATA_DIR.';

const words: Readonly<Record<string, Words>> = {
  EACCES: owner,
  EPERM: owner,
  EROFS: {
    reason: 'the file system is read-only',
    advice:
      "Mount it for writing. If it became read-only by itself, the disk has errors: check the system's log and the file system.",
  },
  ENOSPC: { reason: 'the disk is full', advice: 'Free up space.' },
  EDQUOT: {
    reason: "this user's disk quota is exceeded",
    advice: 'Free up space, or raise the quota.',
  },
  EFBIG: {
    reason: 'the file would exceed the size limit of this user or the file system',
    advice: 'Raise the file size limit (ulimit -f).',
  },
  EIO: {
    reason: 'the disk reports an error',
    advice: "Check the system's log, and move the data folder to a healthy disk.",
  },
  EMFILE: {
    reason: 'the process has too many files open',
    advice: 'Raise the open files limit (ulimit -n).',
  },
  ENOENT: { reason: 'no such file or folder', advice: elsewhere },
  ENOTDIR: { reason: 'a part of the path is not a folder', advice: elsewhere },
  EISDIR: { reason: 'it is a folder', advice: 'Move it away, or pass another data folder with --data-dir.' },
  ELOOP: { reason: 'it is a link, which is not followed', advice: 'Replace it with the file itself.' },
};

/** Why a system call failed, for the end of a sentence; undefined for other errors. */
export function systemReason(error: unknown): string | undefined {
  return wordsOf(error)?.reason;
}

/** The same, or the error code when no reason is known. */
export function systemReasonOrCode(error: unknown): string {
  return systemReason(error) ?? codeOf(error) ?? String(error);
}

/** What to do when it is a file of the store; undefined for other errors. */
export function systemAdvice(error: unknown): string | undefined {
  return wordsOf(error)?.advice;
}

function wordsOf(error: unknown): Words | undefined {
  return words[codeOf(error) ?? ''];
}

/** The code of a failed system call, such as `ENOENT`; undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
