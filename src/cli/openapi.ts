import type { Command } from 'commander';
import { silentLog, systemRuntime } from '../runtime.ts';
import { examples } from './examples.ts';
import { print } from './terminal.ts';

/** `openapi` */
export function openapi(command: Command): void {
  command
    .addHelpText('after', examples('openapi > openapi.json', "openapi | jq '.paths | keys'"))
    .action(async () => {
      const { openapiDocument } = await import('../app.ts');
      const document = await openapiDocument(systemRuntime(silentLog));
      print(JSON.stringify(document, null, 2));
    });
}
