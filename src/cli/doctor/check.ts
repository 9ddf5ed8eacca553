/** What a check found: all well, something to know, or something that keeps the service from working. */
export type Verdict = 'ok' | 'warning' | 'problem';

export type Finding = {
  /** What was looked at, in a few words. */
  name: string;
  verdict: Verdict;
  /** What was seen. */
  text: string;
  /** What to do about it. */
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

/** The message of an error without a full stop, for the inside of a sentence. */
export function reasonIn(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}
