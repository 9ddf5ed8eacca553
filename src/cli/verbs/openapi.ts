import { printJson } from '../terminal/terminal.ts';
import type { Verb } from '../verb.ts';

export const verb: Verb = {
  examples: ['openapi > openapi.json', "openapi | jq '.paths | keys'"],
  async run() {
    const { openapiDocument } = await import('../../http/routes/openapi.ts');
    printJson(openapiDocument());
  },
};
