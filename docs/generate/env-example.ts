import { type Setting, settings } from '../../src/config.ts';

const WIDTH = 100;

const INTRODUCTION = `# Made by "npm run docs" from src/config.ts. Change that, not this.
#
# Every setting of plant-store, with its default. Copy this file, and remove the # before what you change:
#
#   node --env-file=.env node_modules/.bin/plant-store serve     or, for systemd,
#   EnvironmentFile=/etc/plant-store/env
#
# A line holds one setting, without spaces around the =. What is empty counts as not set. Nobody but the service's own
# user should be able to read a file with a DATABASE_URL or a BOOTSTRAP_TOKEN in it.`;

/** `.env.example`: every setting as a comment, in the syntax that Node, systemd and Docker have in common. */
export function envExample(): string {
  return `${[INTRODUCTION, ...Object.values(settings).map(entry)].join('\n\n')}\n`;
}

function entry({ env, description, default: value, defaultText }: Setting<unknown>): string {
  // A default that is made up at the start stands in the comment: it is no value that could be set.
  const isValue = value !== undefined;
  const note = defaultText === undefined || isValue ? description : `${description} Default: ${defaultText}.`;
  return [...wrapped(note), `#${env}=${isValue ? (defaultText ?? '') : ''}`].join('\n');
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = '#';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = '#';
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
