import { needingAttention } from '../../../packages/client/src/attention.ts';
import type { ActiveHour, Webhook } from '../../../packages/client/src/client.ts';
import { Bars } from '../charts/bars.tsx';
import { ButtonLink } from '../components/button.tsx';
import { Notice } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { Empty, Loaded, NoScope } from '../components/states.tsx';
import { age, count, counted, dateAndTime } from '../format.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
import { href } from '../router.ts';
import { may, store } from '../session.ts';
import { Attention } from './attention.tsx';
import '../styles/overview.css';

const REFRESH_MS = 10_000;
const HOURS = 24;

type News = { hours: ActiveHour[]; webhooks: Webhook[]; hasPlants: boolean };

/** The state of the service: recent events, waiting deliveries, and what needs attention. */
export function Overview() {
  return (
    <Page
      title="Overview"
      actions={
        may('plants:read') && (
          <ButtonLink href={href('/plants')} icon="plants">
            Plants
          </ButtonLink>
        )
      }
    >
      {may('webhooks:read') ? <Happenings /> : <NoScope scope="webhooks:read" what="overview" />}
    </Page>
  );
}

function Happenings() {
  const news = useResource('overview', load);
  useRefresh(news, REFRESH_MS);
  return (
    <Loaded resource={news} what="overview">
      {(value) =>
        isNew(value) ? <Beginning /> : <Everything news={value} onChanged={() => void news.reload()} />
      }
    </Loaded>
  );
}

async function load(signal: AbortSignal): Promise<News> {
  const [{ hours }, webhooks, hasPlants] = await Promise.all([
    store().activity({ hours: HOURS, signal }),
    store().webhooks.list({ signal }),
    anyPlants(signal),
  ]);
  return { hours, webhooks, hasPlants };
}

/** Whether the user has any plants. Without the scope to list them, the page must not claim that there are none. */
async function anyPlants(signal: AbortSignal): Promise<boolean> {
  if (!may('plants:read')) return true;
  const { items } = await store().plants.page({ limit: 1, signal });
  return items.length > 0;
}

function isNew({ webhooks, hasPlants }: News): boolean {
  return !hasPlants && webhooks.length === 0;
}

function Beginning() {
  return (
    <Empty
      icon="plants"
      title="Nothing grows here yet"
      actions={
        <>
          <ButtonLink look="primary" icon="add" href={href('/plants')}>
            Add a plant
          </ButtonLink>
          <ButtonLink icon="webhooks" href={href('/webhooks')}>
            Create a webhook
          </ButtonLink>
        </>
      }
    >
      Add plants one by one or from a CSV file. A webhook tells another program about every new one.
    </Empty>
  );
}

function Everything({ news: { hours, webhooks }, onChanged }: { news: News; onChanged(): void }) {
  const concerns = needingAttention(webhooks, dateAndTime, age);
  return (
    <div class="overview">
      <Tiles hours={hours} webhooks={webhooks} />
      <Attention concerns={concerns} hasWebhooks={webhooks.length > 0} onChanged={onChanged} />
      {hours.length < HOURS && (
        <Notice kind="info">
          {hours.length === 0
            ? 'This hour has more events than the console counts. See the metrics of the service.'
            : `Earlier hours have more events than the console counts: these are the last ${counted(hours.length, 'hour')}.`}
        </Notice>
      )}
      {hours.length > 0 && <Charts hours={hours} />}
    </div>
  );
}

function Charts({ hours }: Pick<News, 'hours'>) {
  return (
    <div class="charts">
      <Bars
        title="New plants by hour"
        series={[{ name: 'Plants', look: 'leaf' }]}
        bars={hours.map(({ from, plants }) => ({ from, values: [plants] }))}
      />
      <Bars
        title="Deliveries, by the hour in which the plant was added"
        series={[
          { name: 'Delivered', look: 'leaf' },
          { name: 'Waiting', look: 'warn' },
          { name: 'Failed', look: 'bad' },
        ]}
        bars={hours.map(({ from, delivered, waiting, failed }) => ({
          from,
          values: [delivered, waiting, failed],
        }))}
      />
    </div>
  );
}

function Tiles({ hours, webhooks }: Pick<News, 'hours' | 'webhooks'>) {
  const waiting = sum(webhooks.map((webhook) => webhook.waiting));
  const oldest = Math.max(0, ...webhooks.map(({ oldestWaitingAge = 0 }) => oldestWaitingAge));
  const enabled = webhooks.filter(({ status }) => status === 'enabled').length;
  return (
    <dl class="tiles">
      <Tile name="New plants" {...totalOf(hours, ({ plants }) => plants)} />
      <Tile name="Delivered" {...totalOf(hours, ({ delivered }) => delivered)} />
      <Tile
        name="Waiting"
        value={count(waiting)}
        note={waiting > 0 ? `the oldest for ${age(oldest)}` : 'none waiting'}
      />
      <Tile
        name="Webhooks"
        value={count(webhooks.length)}
        note={webhooks.length === 0 ? 'none yet' : `${count(enabled)} enabled`}
      />
    </dl>
  );
}

/** The sum of the counted hours; without any, the value is unknown rather than zero. */
function totalOf(hours: readonly ActiveHour[], numberOf: (hour: ActiveHour) => number) {
  if (hours.length === 0) return { value: '–', note: 'not counted' };
  const value = count(sum(hours.map(numberOf)));
  return { value, note: `in the last ${counted(hours.length, 'hour')}` };
}

function Tile({ name, value, note }: { name: string; value: string; note: string }) {
  return (
    <div class="card tile">
      <dt>{name}</dt>
      <dd>
        <span class="tile-value">{value}</span>
        <span class="tile-note">{note}</span>
      </dd>
    </div>
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
