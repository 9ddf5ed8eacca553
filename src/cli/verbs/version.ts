import { version } from '../../config/package.ts';
import { print } from '../terminal/terminal.ts';
import type { Verb } from '../verb.ts';

export const verb: Verb = {
  examples: ['version'],
  run: async () => print(version),
};
