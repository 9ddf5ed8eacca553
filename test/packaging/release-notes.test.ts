import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUnreleased, releaseNotes } from '../../ops/release/notes.ts';

const CHANGELOG = `# Changelog

## 1.1.0 - Unreleased

### Added

- A [guide](docs/guide.md) by [RFC 6750](https://www.rfc-editor.org/rfc/rfc6750).

## 1.0.0 - 2026-01-31

### Fixed

- All.
`;

test("release notes are the changelog's section, with links that work everywhere", () => {
  const added = '- A guide by [RFC 6750](https://www.rfc-editor.org/rfc/rfc6750).';
  assert.equal(releaseNotes(CHANGELOG, '1.1.0'), `# Plant Store 1.1.0\n\n## Added\n\n${added}\n`);
  assert.equal(releaseNotes(CHANGELOG, '1.0.0'), '# Plant Store 1.0.0\n\n## Fixed\n\n- All.\n');
});

test('a version missing in the changelog cannot be released', () => {
  assert.throws(() => releaseNotes(CHANGELOG, '1.0'), /CHANGELOG\.md has no heading "## 1\.0 - <day>"/);
});

test('a version without a date is recognised', () => {
  assert.deepEqual([isUnreleased(CHANGELOG, '1.1.0'), isUnreleased(CHANGELOG, '1.0.0')], [true, false]);
});
