import type { PlantEvent } from '../../../packages/client/src/schemas.ts';
import { serviceFor } from '../api.ts';
import type { ApiFlags } from '../api-options.ts';
import { eventPages } from '../events.ts';
import { firstOf, parseLimit, printArray, printTable } from '../pages.ts';
import { outputAbandoned, prettyJson, say } from '../terminal/terminal.ts';
import { parseTime, sinceRule } from '../terminal/time.ts';
import { option, remote, type Verbs } from '../verb.ts';
import { follow, followOptions } from './listen.ts';

type ListFlags = ApiFlags & { since?: string; limit?: number; json?: true };

/** As wide as their widest cells, so that the pages of a long list line up. */
const headings = ['EVENT'.padEnd(30), 'TYPE'.padEnd(13), 'CREATED'.padEnd(24), 'PLANT', 'NAME', 'TAG'];

export const verbs: Verbs = remote({
  list: {
    description: 'list the events of the plants you may read, oldest first',
    options: [
      option('--since <time>', `only events since then: ${sinceRule}`, parseTime),
      option('--limit <number>', 'how many at most (default: all)', parseLimit),
      option('--json', 'print a JSON array'),
    ],
    examples: ['event list --since 2h', "event list --json | jq -r '.[].plant.name'"],
    async run({ since, limit = Infinity, json, ...flags }: ListFlags) {
      const service = serviceFor(flags, { patience: {} });
      const pages = firstOf(eventPages(service, { since, signal: outputAbandoned() }), limit);
      const { isEmpty, hasMore } = await (json
        ? printArray(pages, prettyJson)
        : printTable(pages, headings, rowOf));
      if (isEmpty && !json) say('No events found.');
      if (hasMore) say('There are more: omit --limit to list all of them.');
    },
  },
  watch: {
    description: 'print events as they arrive; listen also forwards them to a receiver',
    options: followOptions(),
    examples: ['event watch', 'event watch --since 10m --json | jq --unbuffered -r .plant.name'],
    run: follow,
  },
});

function rowOf({ id, type, createdAt, plant }: PlantEvent): string[] {
  return [id, type, createdAt, String(plant.id), plant.name, plant.tag ?? ''];
}
