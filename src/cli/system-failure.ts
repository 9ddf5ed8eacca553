/** By the code of a failed system call. */
const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not',
  EPERM: 'this user may not',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of this user is used up',
  EFBIG: 'the file would be larger than this user, or the file system, may have it',
  EIO: 'the disk reports an error',
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is no folder',
  EISDIR: 'it is a folder',
  ELOOP: 'it is a link, which is not followed',
};

/** Why a system call failed, for the end of a sentence; undefined for an error that is none of these. */
export function systemReason(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? reasons[String(error.code)] : undefined;
}

/** The same, with the code itself for what has no words here. */
export function systemReasonOrCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return systemReason(error) ?? code;
}
