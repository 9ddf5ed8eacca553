/** A reader of Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/). */
export type Scrape = {
  text: string;
  /** Every sample of this name, including a histogram's `_bucket`, `_sum` and `_count`. */
  samples(name: string): Sample[];
  /** The one sample with these labels, and perhaps others; undefined without one. */
  value(name: string, labels?: Record<string, string>): number | undefined;
  names: ReadonlySet<string>;
  types: ReadonlyMap<string, string>;
};

export type Sample = { labels: Record<string, string>; value: number };

export async function scrape(url: string): Promise<Scrape> {
  const response = await fetch(url);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
  return parse(text);
}

function parse(text: string): Scrape {
  const all = new Map<string, Sample[]>();
  const types = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, named, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (named !== undefined && type !== undefined) types.set(named, type);
    if (line === '' || line.startsWith('#')) continue;
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`This is no sample: ${line}`);
    const found = all.get(name) ?? [];
    all.set(name, found);
    found.push({ labels: labelsIn(labels), value: Number(value) });
  }
  const samples = (name: string) => all.get(name) ?? [];
  return {
    text,
    samples,
    value: (name, wanted = {}) =>
      samples(name).find(({ labels }) => Object.entries(wanted).every(([key, each]) => labels[key] === each))
        ?.value,
    names: new Set(all.keys()),
    types,
  };
}

function labelsIn(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [name, value]),
  );
}
