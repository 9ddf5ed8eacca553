/** The changelog's section about a version, as its own page. Throws when it is missing. */
export function releaseNotes(changelog: string, version: string): string {
  const start = changelog.split('\n').findIndex((line) => line.startsWith(`## ${version} `));
  if (start < 0) throw new Error(`CHANGELOG.md has no heading "## ${version} - <day>". Add one.`);
  const [, ...lines] = changelog.split('\n').slice(start);
  const end = lines.findIndex((line) => line.startsWith('## '));
  const section = lines.slice(0, end < 0 ? undefined : end).join('\n');
  return `# Plant Store ${version}\n\n${withoutRelativeLinks(raised(section)).trim()}\n`;
}

/** Whether the version's heading has no date yet. */
export function isUnreleased(changelog: string, version: string): boolean {
  return changelog.includes(`\n## ${version} - Unreleased\n`);
}

function raised(markdown: string): string {
  return markdown.replace(/^##(?=#+ )/gm, '#');
}

/** Readers of release notes do not have the repository's files. */
function withoutRelativeLinks(markdown: string): string {
  return markdown.replace(/\[([^\]]+)\]\((?![a-z]+:)[^)]+\)/g, '$1');
}
