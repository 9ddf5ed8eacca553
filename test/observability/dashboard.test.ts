import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import type { Scrape } from '../../testkit/service/scrape.ts';
import { startMeasured } from './measured.ts';
import { selectorsOf } from './promql.ts';

/** The dashboard and the alerts use only metrics and labels that a service exports. */

const ROOT = join(import.meta.dirname, '..', '..');
/** Labels that Prometheus adds to each sample. */
const ADDED = ['job', 'instance'];
/** Prometheus's own metric: whether the last scrape succeeded. */
const OWN = ['up'];

type Query = { where: string; expr: string };

let exported: Scrape;
before(async () => {
  // An embedded store, because with a database the free disk space is unknown.
  const service = await startMeasured({ DATABASE_URL: '' });
  const receiver = await startReceiver();
  after(() => receiver.stop());
  await service.request('POST', '/webhooks', { body: { url: receiver.url } });
  await service.request('POST', '/plants', { body: { name: 'Oak' } });
  await receiver.receive(1);
  exported = await service.until('request', (found) =>
    found.names.has('plant_store_http_request_duration_seconds_bucket'),
  );
  await service.stop();
});

test('each query of the dashboard uses metrics and labels that a service exports', () => {
  const queries = dashboardQueries();
  assert.ok(queries.length > 30, `${queries.length} queries`);
  assert.deepEqual(queries.flatMap(problemsOf), []);
});

test('each alert uses metrics and labels that a service exports', () => {
  const queries = alertQueries();
  assert.ok(queries.length > 10, `${queries.length} alerts`);
  assert.deepEqual(queries.flatMap(problemsOf), []);
});

test('each alert selects its job, so that the metrics of other programs do not raise it', () => {
  for (const { where, expr } of alertQueries()) {
    for (const { metric, matchers } of selectorsOf(expr).selectors) {
      const jobs = matchers.filter(({ label, operator }) => label === 'job' && operator === '=');
      assert.deepEqual(
        jobs.map(({ value }) => value),
        ['plant-store'],
        `${where}: ${metric}`,
      );
    }
  }
});

test('alerts are raised when targets are gone or down, and when no replica sends', {
  skip: spawnSync('promtool', ['--version']).error && 'promtool is not installed',
}, () => {
  const { status, stderr } = spawnSync('promtool', ['test', 'rules', 'ops/alerts-test.yaml'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
});

test('a metric, a label or a value that is not exported would be detected', () => {
  for (const expr of [
    'plant_store_gone',
    'rate(plant_store_commit_duration_seconds[5m])',
    'plant_store_webhooks{state="paused"}',
    'plant_store_webhooks{status="gone"}',
    'sum by (owner) (plant_store_webhooks)',
  ]) {
    assert.equal(problemsOf({ where: 'here', expr }).length, 1, expr);
  }
});

test('every alert has a severity, a summary and a description, and the guide says what to do', () => {
  const guide = read('docs/how-to/observe.md');
  for (const { alert, labels, annotations } of alerts()) {
    assert.match(String(labels.severity), /^(?:critical|warning|info)$/);
    assert.ok(annotations.summary && annotations.description, alert);
    assert.ok(guide.includes(`\`${alert}\``), `${alert} is not in the guide`);
  }
});

test('panels have a title, a place and an id of their own', () => {
  const { panels } = dashboard();
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const cells = panels.flatMap(({ title, gridPos: { x, y, w, h } }) => {
    assert.ok(title && x + w <= 24);
    return Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`);
  });
  assert.equal(new Set(cells).size, cells.length, 'panels lie on each other');
});

type Panel = {
  id: number;
  title: string;
  gridPos: Record<'x' | 'y' | 'w' | 'h', number>;
  targets?: { expr: string }[];
};

function dashboard(): { panels: Panel[]; templating: { list: { query: string; type: string }[] } } {
  return JSON.parse(read('ops/grafana-dashboard.json'));
}

function dashboardQueries(): Query[] {
  const { panels, templating } = dashboard();
  const variables = templating.list
    .map(({ query }) => /^label_values\((.*), (\w+)\)$/.exec(query)?.[1])
    .filter((expr) => expr !== undefined);
  return [
    ...variables.map((expr) => ({ where: 'a variable', expr })),
    ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ where: title, expr }))),
  ];
}

type Alert = {
  alert: string;
  expr: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
};

function alerts(): Alert[] {
  const { groups }: { groups: { rules: Alert[] }[] } = parse(read('ops/alerts.yaml'));
  return groups.flatMap(({ rules }) => rules);
}

function alertQueries(): Query[] {
  return alerts().map(({ alert, expr }) => ({ where: alert, expr }));
}

function problemsOf({ where, expr }: Query): string[] {
  const { selectors, grouped } = selectorsOf(expr);
  const known = new Set(ADDED);
  const problems: string[] = [];
  for (const { metric, matchers } of selectors) {
    const samples = exported.samples(metric);
    if (samples.length === 0 && !OWN.includes(metric)) problems.push(`${where}: no metric ${metric}`);
    for (const { labels } of samples) for (const label of Object.keys(labels)) known.add(label);
    for (const { label, operator, value } of matchers) {
      if (ADDED.includes(label)) continue;
      const values = samples.map(({ labels }) => labels[label]);
      if (samples.length > 0 && !values.some((each) => each !== undefined))
        problems.push(`${where}: ${metric} has no label ${label}`);
      else if (operator === '=' && !values.includes(value))
        problems.push(`${where}: ${metric} has no ${label} ${value}`);
      else if (operator === '=~' && !values.some((each) => new RegExp(`^(?:${value})$`).test(each ?? '')))
        problems.push(`${where}: ${metric} has no ${label} that matches ${value}`);
    }
  }
  if (selectors.length === 0) problems.push(`${where}: no metric at all`);
  // Only an exported metric can lack a label.
  if (problems.length === 0) {
    for (const label of grouped) if (!known.has(label)) problems.push(`${where}: no label ${label}`);
  }
  return problems;
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}
