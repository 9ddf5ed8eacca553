import type { Api, ApiFlags } from './api-options.ts';
import type { ImportFormat } from './import-rows.ts';

export type ImportFlags = ApiFlags & {
  format?: ImportFormat;
  dryRun?: true;
  errors?: string;
  journal?: string;
  restart?: true;
  newToken?: true;
  concurrency?: number;
  /** Milliseconds. */
  patience?: number;
  quiet?: true;
  json?: true;
};

/** What an import was asked to do. */
export type ImportOrder = {
  /** `-` is standard input. */
  file: string;
  format: ImportFormat;
  flags: ImportFlags;
  api: Api;
  /** Aborted when no further row is to be sent. */
  stopping: AbortController;
};
