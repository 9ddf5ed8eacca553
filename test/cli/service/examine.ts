import assert from 'node:assert/strict';
import type { Finding } from '../../../src/cli/doctor/check.ts';
import { launch, outcomeOf } from '../../../testkit/processes/program.ts';

/** The findings of `doctor --json`, by name. */
export async function examine(env: Record<string, string>, through: readonly string[] = []) {
  const doctor = launch(['doctor', '--json'], { PORT: '0', ...env }, through);
  const { code, stdout, stderr } = await outcomeOf(doctor);
  assert.equal(stderr, '');
  const findings: Finding[] = JSON.parse(stdout);
  return { code, of: (name: string) => findings.filter((finding) => finding.name === name) };
}
