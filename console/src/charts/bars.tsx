import { Table } from '../components/table.tsx';
import { count } from '../format.ts';

/** One colour of a chart, from the bottom up. */
export type Series = { name: string; look: 'leaf' | 'warn' | 'bad' };

/** The values of an hour, one per series. */
export type Bar = { from: string; values: readonly number[] };

type BarsProps = { title: string; series: readonly Series[]; bars: readonly Bar[] };

const HEIGHT = 100;
const GAP = 0.22;
const hours = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const days = new Intl.DateTimeFormat('en', {
  weekday: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/** Bars by hour, as a picture and as a table that can be opened. */
export function Bars({ title, series, bars }: BarsProps) {
  const most = Math.max(0, ...bars.map(sumOf));
  const top = ceilingOf(most);
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        {series.length > 1 && <Legend series={series} />}
      </figcaption>
      <div class="chart-plot">
        <span class="chart-top">{count(top)}</span>
        <svg
          viewBox={`0 0 ${Math.max(1, bars.length)} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={summaryOf(title, bars)}
        >
          {bars.map((bar, at) => (
            <Column key={bar.from} bar={bar} at={at} top={top} series={series} />
          ))}
        </svg>
      </div>
      <HourMarks bars={bars} />
      <details>
        <summary>Show as a table</summary>
        <Table
          caption={title}
          rows={bars.toReversed()}
          keyOf={({ from }) => from}
          columns={[
            { title: 'Hour', cell: ({ from }) => days.format(new Date(from)) },
            ...series.map(({ name }, index) => ({
              title: name,
              kind: 'number' as const,
              cell: ({ values }: Bar) => count(values[index] ?? 0),
            })),
          ]}
        />
      </details>
    </figure>
  );
}

function Column({ bar, at, top, series }: { bar: Bar; at: number; top: number; series: readonly Series[] }) {
  let below = 0;
  const parts = bar.values.map((value, index) => {
    // Any value above zero must be visible.
    const height = value === 0 ? 0 : Math.max(1, (value / top) * HEIGHT);
    below += height;
    return { look: series[index]?.look, height, y: HEIGHT - below };
  });
  const values = series.map(({ name }, index) => `${name}: ${count(bar.values[index] ?? 0)}`);
  return (
    <g>
      <title>{`${days.format(new Date(bar.from))} · ${values.join(' · ')}`}</title>
      {/* The whole column reacts to the pointer. */}
      <rect class="chart-space" x={at} y={0} width={1} height={HEIGHT} />
      {parts.map(({ look, height, y }) => (
        <rect key={look} class={`chart-${look}`} x={at + GAP / 2} y={y} width={1 - GAP} height={height} />
      ))}
    </g>
  );
}

function Legend({ series }: { series: readonly Series[] }) {
  return (
    <ul class="legend">
      {series.map(({ name, look }) => (
        <li key={name}>
          <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
            <rect class={`chart-${look}`} width="10" height="10" rx="2" />
          </svg>
          {name}
        </li>
      ))}
    </ul>
  );
}

function HourMarks({ bars }: { bars: readonly Bar[] }) {
  const places = new Set([0, 0.25, 0.5, 0.75].map((part) => Math.floor(part * bars.length)));
  return (
    <div class="chart-hours" aria-hidden="true">
      {bars.map(
        ({ from }, at) =>
          places.has(at) && (
            <span key={from} style={{ left: `${(100 * at) / bars.length}%` }}>
              {hours.format(new Date(from))}
            </span>
          ),
      )}
    </div>
  );
}

function summaryOf(title: string, bars: readonly Bar[]): string {
  const total = bars.reduce((sum, bar) => sum + sumOf(bar), 0);
  if (total === 0) return `${title}: none`;
  const busiest = bars.reduce((one, other) => (sumOf(other) > sumOf(one) ? other : one));
  return `${title}: ${count(total)} in total, most at ${hours.format(new Date(busiest.from))}, ${count(sumOf(busiest))}`;
}

function sumOf({ values }: Bar): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The round number at the top of the scale: 1, 2 or 5 with zeros, not below the value. */
function ceilingOf(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return ([1, 2, 5].find((step) => step * power >= value) ?? 10) * power;
}
