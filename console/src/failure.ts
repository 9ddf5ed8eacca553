import { PlantStoreError } from '../../packages/client/src/client.ts';

/** The error code, if the service answered. */
export function codeOf(error: unknown): number | undefined {
  return error instanceof PlantStoreError ? error.error : undefined;
}

/** What went wrong, in a sentence. */
export function sentenceOf(error: unknown): string {
  if (isUnreachable(error)) return 'The service cannot be reached.';
  return error instanceof Error ? error.message : String(error);
}

/** Whether the service did not answer. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof PlantStoreError && error.status === undefined;
}

/** Whether the service has refused the key of the request, too: for a day, a retry with it gets the same answer. */
export function isKept(error: unknown): boolean {
  const code = codeOf(error) ?? 0;
  const status = Math.trunc(code / 100);
  return status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status) && code !== 40901;
}

/** Whether the error says that the object does not exist (any more). */
export function isGone(error: unknown): boolean {
  return [40401, 40402, 40403].includes(codeOf(error) ?? 0);
}

/** The missing scope, if that is the problem. */
export function missingScope(error: unknown): string | undefined {
  if (codeOf(error) !== 40300) return undefined;
  return /scope (\S+?)\.?$/.exec(sentenceOf(error))?.[1];
}
