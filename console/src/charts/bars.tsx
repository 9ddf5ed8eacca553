import { useSignal } from '@preact/signals';
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

/** Bars by hour, as a picture and as a table that can be opened. Pointer and arrow keys choose an hour to read. */
export function Bars({ title, series, bars }: BarsProps) {
  const chosen = useSignal<number | undefined>(undefined);
  const top = ceilingOf(Math.max(0, ...bars.map(sumOf)));
  const last = bars.length - 1;
  const at = chosen.value === undefined ? undefined : Math.min(chosen.value, last);
  const hour = at === undefined ? undefined : bars[at];
  const choose = (next: number | undefined) => {
    chosen.value = next;
  };
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        {series.length > 1 && <Legend series={series} />}
      </figcaption>
      <p class="chart-value">{hour ? readingOf(hour, series) : summaryOf(bars)}</p>
      <div class="chart-plot">
        <div class="chart-scale" aria-hidden="true">
          {[top, top / 2, 0].map((value) => (
            <span key={value}>{count(value)}</span>
          ))}
        </div>
        <div class="chart-area">
          <svg
            viewBox={`0 0 ${bars.length} ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`${title}: ${summaryOf(bars)}`}
          >
            {bars.map((bar, place) => (
              <Column key={bar.from} {...{ bar, top, series, place }} isChosen={place === at} />
            ))}
          </svg>
          <input
            type="range"
            aria-label={`${title}, hour`}
            aria-valuetext={readingOf(hour ?? bars[last], series)}
            max={last}
            value={at ?? last}
            onInput={({ currentTarget }) => choose(Number(currentTarget.value))}
            onFocus={({ currentTarget }) => choose(Number(currentTarget.value))}
            onPointerMove={({ offsetX, currentTarget }) =>
              choose(Math.max(0, Math.floor((offsetX / currentTarget.offsetWidth) * bars.length)))
            }
            onPointerLeave={() => choose(undefined)}
            onBlur={() => choose(undefined)}
          />
        </div>
        <HourMarks bars={bars} />
      </div>
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

type ColumnProps = { bar: Bar; place: number; top: number; series: readonly Series[]; isChosen: boolean };

function Column({ bar, place, top, series, isChosen }: ColumnProps) {
  let below = 0;
  const parts = bar.values.map((value, index) => {
    // Any value above zero must be visible.
    const height = value === 0 ? 0 : Math.max(1, (value / top) * HEIGHT);
    below += height;
    return { look: series[index]?.look, height, y: HEIGHT - below };
  });
  return (
    <g>
      {isChosen && <rect class="chart-chosen" x={place} y={0} width={1} height={HEIGHT} />}
      {parts.map(({ look, height, y }) => (
        <rect key={look} class={`chart-${look}`} x={place + GAP / 2} y={y} width={1 - GAP} height={height} />
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

/** The hours of the day that divide by six; of a few bars every hour. */
function HourMarks({ bars }: { bars: readonly Bar[] }) {
  const step = bars.length > 6 ? 6 : 1;
  return (
    <div class="chart-hours" aria-hidden="true">
      {bars.map(
        ({ from }, at) =>
          new Date(from).getHours() % step === 0 && (
            <span key={from} style={{ left: `${(100 * (at + 0.5)) / bars.length}%` }}>
              {hours.format(new Date(from))}
            </span>
          ),
      )}
    </div>
  );
}

function readingOf(bar: Bar | undefined, series: readonly Series[]): string {
  if (!bar) return '';
  const values = series.map(({ name }, index) => `${name}: ${count(bar.values[index] ?? 0)}`);
  return `${days.format(new Date(bar.from))} · ${values.join(' · ')}`;
}

function summaryOf(bars: readonly Bar[]): string {
  const total = bars.reduce((sum, bar) => sum + sumOf(bar), 0);
  if (total === 0) return 'none';
  const busiest = bars.reduce((one, other) => (sumOf(other) > sumOf(one) ? other : one));
  return `${count(total)} in total, most at ${hours.format(new Date(busiest.from))}, ${count(sumOf(busiest))}`;
}

function sumOf({ values }: Bar): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The round number at the top of the scale: one even digit and zeros, or a power of ten, so that half of it is whole. */
function ceilingOf(value: number): number {
  const most = Math.max(1, value);
  const step = 2 * 10 ** Math.max(0, Math.ceil(Math.log10(most)) - 1);
  return Math.ceil(most / step) * step;
}
