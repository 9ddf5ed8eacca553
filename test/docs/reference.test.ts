import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { examples } from '../../docs/generate/operation-examples.ts';
import { referencePages } from '../../docs/generate/pages.ts';
import manifest from '../../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '..', '..');

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

test('every reference page matches the code; "npm run docs" regenerates them', async () => {
  for (const [file, text] of await referencePages()) {
    assert.equal(read(file), text, `${file} is stale`);
  }
});

test('the decision about dependencies gives a reason for every one', () => {
  const decision = read('docs/decisions/0002-dependencies.md');
  const names = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.devDependencies)];
  const missing = names.filter((name) => !decision.includes(`\`${name}\``));
  assert.deepEqual(missing, []);
});

test('the decisions are numbered without a gap and listed in their index', () => {
  const index = read('docs/decisions/README.md');
  const listed = [...index.matchAll(/\]\((\d{4})-[a-z-]+\.md\)/g)].map(([, number]) => Number(number));
  assert.deepEqual(
    listed,
    listed.map((_, i) => i + 1),
  );
});

test('every operation has examples, and they name only parameters, verbs and flags that exist', () => {
  const { paths }: { paths: Record<string, Record<string, Operation>> } = JSON.parse(
    read('docs/reference/openapi.json'),
  );
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  assert.deepEqual(Object.keys(examples).sort(), operations.map(({ operationId }) => operationId).sort());
  for (const { operationId, parameters = [] } of operations) {
    const { query, cli } = examples[operationId] ?? {};
    const names = parameters.map(({ name }) => name);
    const unknown = [...new URLSearchParams(query).keys()].filter((name) => !names.includes(name));
    assert.deepEqual([...unknown, ...(cli === undefined ? [] : unknownIn(cli))], [], operationId);
  }
});

test('the example of a test event has its type and its plant', () => {
  const page = read('docs/reference/operations/test-webhook.md');
  assert.match(page, /"type": "plant.test",\s+"plant": \{\s+"id": 0,/);
});

type Operation = { operationId: string; parameters?: { name?: string }[] };

/** The verb or the flags of a command that the reference does not have. */
function unknownIn(command: string): string[] {
  const [verb = ''] = /^[a-z]+(?: [a-z]+)?/.exec(command) ?? [];
  const page = read(`docs/reference/cli/${verb.split(' ')[0]}.md`);
  const help = page.split(/^##? plant-store /m).find((text) => text.startsWith(`${verb}\n`));
  if (help === undefined) return [verb];
  return [...command.matchAll(/--[a-z-]+/g)].map(String).filter((flag) => !help.includes(`${flag} `));
}
