/** The result of a check: fine, worth knowing, or keeping the service from working. */
export type Verdict = 'ok' | 'warning' | 'problem';

export type Finding = {
  name: string;
  verdict: Verdict;
  text: string;
  advice?: string;
};

export function ok(name: string, text: string): Finding {
  return { name, verdict: 'ok', text };
}

const withAdvice =
  (verdict: Verdict) =>
  (name: string, text: string, advice: string): Finding => ({ name, verdict, text, advice });
export const warning = withAdvice('warning');
export const problem = withAdvice('problem');

/** The message of an error without its full stop, to use inside a sentence. */
export function reasonIn(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}
