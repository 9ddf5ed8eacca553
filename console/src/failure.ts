import { PlantStoreError } from '../../src/client/client.ts';

/** The code of the catalogue, when the service answered. */
export function codeOf(error: unknown): number | undefined {
  return error instanceof PlantStoreError ? error.error : undefined;
}

/** A sentence for a person: what went wrong. */
export function sentenceOf(error: unknown): string {
  if (error instanceof PlantStoreError) {
    return error.status === undefined ? 'The service cannot be reached.' : error.message;
  }
  return error instanceof Error ? error.message : String(error);
}

/** Whether it is about something that is not there, or no longer. */
export function isGone(error: unknown): boolean {
  return [40401, 40402, 40403].includes(codeOf(error) ?? 0);
}

/** The scope that is missing, when that is what went wrong. */
export function missingScope(error: unknown): string | undefined {
  if (codeOf(error) !== 40300) return undefined;
  return /scope (\S+?)\.?$/.exec(sentenceOf(error))?.[1];
}
