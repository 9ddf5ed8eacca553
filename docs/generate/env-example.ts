import { type Setting, settings } from '../../src/config/settings.ts';

const WIDTH = 100;

const INTRODUCTION = `# Made by "npm run docs" from src/config/settings.ts. Change that, not this.
#
# Every setting of plant-store, with its default. Copy this file and remove the # from the lines you change:
#
#   node --env-file=.env node_modules/.bin/plant-store serve     or, for systemd,
#   EnvironmentFile=/etc/plant-store/env
#
# A line holds one setting, without spaces around the =. An empty value counts as not set. If the file has a
# DATABASE_URL or a BOOTSTRAP_TOKEN, let only the user of the service read it.`;

/** Generates `.env.example`: every setting as a comment, in the syntax that Node, systemd and Docker share. */
export function envExample(): string {
  return `${[INTRODUCTION, ...Object.values(settings).map(entry)].join('\n\n')}\n`;
}

function entry({ env, description, default: value, defaultText }: Setting<unknown>): string {
  // A default that cannot be set as a value goes into the comment.
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
