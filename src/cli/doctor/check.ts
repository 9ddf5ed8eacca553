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

export function warning(name: string, text: string, advice: string): Finding {
  return { name, verdict: 'warning', text, advice };
}

export function problem(name: string, text: string, advice: string): Finding {
  return { name, verdict: 'problem', text, advice };
}

/** The message of an error without its full stop, to use inside a sentence. */
export function reasonIn(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}
