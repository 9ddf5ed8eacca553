import { OPERATIONS, readSource, targetOf } from './sources.ts';

export type Entry = { source: string; label: string; below: Entry[] };
export type Group = { label: string; entries: Entry[] };

/** Where the table of contents stands: the pages themselves say their order. */
export const CONTENTS = 'docs/README.md';
/** Pages that list others, which stand below them in the contents. */
const INDEXES = ['docs/decisions/README.md', OPERATIONS, 'docs/reference/cli.md'];

/** The groups of pages, in the order of the table of contents: a heading each, and the first link of each item. */
export function readContents(): Group[] {
  const [, ...parts] = readSource(CONTENTS).split(/^#{2,3} /m);
  return parts.flatMap((part) => {
    const label = part.slice(0, part.indexOf('\n')).trim();
    const entries = entriesIn(CONTENTS, part);
    return entries.length > 0 ? [{ label, entries }] : [];
  });
}

function entriesIn(source: string, text: string): Entry[] {
  const items = text.matchAll(/^(?:-|\|) \[([^\]]+)\]\(([^)]+)\)(.*)$/gm);
  return [...items].flatMap(([, name = '', link = '', rest = '']) => {
    const target = targetOf(source, link);
    // A decision is known by number and name.
    const label = (/^\d+$/.test(name) ? `${name}${rest}` : name).replaceAll('`', '');
    if (target.kind !== 'page') return [];
    const below = INDEXES.includes(target.source) ? entriesIn(target.source, readSource(target.source)) : [];
    return [{ source: target.source, label, below }];
  });
}
