import { inspect } from 'node:util';

type TestEvent = {
  type: string;
  data: { name: string; file?: string; line?: number; details?: Details; skip?: unknown; message?: string };
};
type Details = { type?: string; error?: { cause?: unknown; failureType?: string } };

/**
 * A reporter for node:test that reports only failures and ends with one line of counts. The runner loads a module's
 * default export.
 */
export default async function* quietReporter(source: AsyncIterable<TestEvent>): AsyncIterable<string> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const { type, data } of source) {
    const isTest = data.details?.type !== 'suite';
    if (type === 'test:pass' && isTest) counts[data.skip ? 'skipped' : 'passed']++;
    if (type === 'test:stdout' || type === 'test:stderr') yield data.message ?? '';
    // An error that nobody handled. It fails its file, without a reason.
    if (type === 'test:diagnostic' && /^(?:Error|Warning):/.test(data.message ?? ''))
      yield `\n${data.message}\n`;
    if (type !== 'test:fail') continue;
    if (isTest) counts.failed++;
    if (data.details?.error?.failureType === 'subtestsFailed') continue;
    const cause = data.details?.error?.cause ?? data.details?.error;
    yield `\nfailed: ${data.name} (${data.file}:${data.line})\n${inspect(cause)}\n`;
  }
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
  yield `${counts.passed} passed, ${counts.failed} failed${skipped}\n`;
}
