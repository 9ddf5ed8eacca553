import type { Command } from 'commander';
import { examplesFirst } from './examples.ts';
import { printJson } from './terminal.ts';

/** `openapi` */
export function openapi(command: Command): void {
  command
    .configureHelp(examplesFirst('openapi > openapi.json', "openapi | jq '.paths | keys'"))
    .action(async () => {
      const { openapiDocument } = await import('../http/openapi.ts');
      printJson(openapiDocument());
    });
}
