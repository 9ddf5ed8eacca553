/** The metrics and labels in a PromQL expression (https://prometheus.io/docs/prometheus/latest/querying/basics/). */
export type Names = { selectors: Selector[]; grouped: string[] };

export type Selector = {
  metric: string;
  matchers: { label: string; operator: string; value: string }[];
};

const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'on', 'ignoring', 'by', 'without']);

export function selectorsOf(expr: string): Names {
  const grouped: string[] = [];
  const rest = expr
    .replaceAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g, (_, labels: string) => {
      grouped.push(...labels.split(',').map((label) => label.trim()));
      return ' ';
    })
    // Ranges, and a dashboard's variables for them.
    .replaceAll(/\[[^\]]*\]/g, ' ');
  const selectors: Selector[] = [];
  // A name before a bracket is a function or an aggregation.
  for (const [, metric = '', braces = ''] of rest.matchAll(
    /(?<![\w$"])([a-zA-Z_:][\w:]*)(?![\w:])(?!\s*\()\s*(?:\{([^}]*)\})?/g,
  )) {
    if (!WORDS.has(metric) && !isAlone(metric)) selectors.push({ metric, matchers: matchersIn(braces) });
  }
  return { selectors, grouped };
}

/** An aggregation whose `by` before the bracket was removed. */
function isAlone(word: string): boolean {
  return ['sum', 'max', 'min', 'avg', 'count'].includes(word);
}

function matchersIn(braces: string): Selector['matchers'] {
  return [...braces.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(
    ([, label = '', operator = '', value = '']) => ({ label, operator, value }),
  );
}
