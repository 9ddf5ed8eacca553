import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };
import clientManifest from '../../packages/client/package.json' with { type: 'json' };
import { greetedUrl, outcomeOf, untilGreeted } from '../../testkit/processes/program.ts';
import { TOKEN } from '../../testkit/processes/server.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { npm, type Packed, pack } from './packed.ts';

/** The package, made and installed once for all tests here, as its users get it: without the checkout. */

const ROOT = join(import.meta.dirname, '..', '..');
const ALLOWED = [
  /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|\.env\.example|bin\/plant-store|ops\/plant-store\.service)$/,
  /^build\/lib\/[\w-]+\.js$/,
  /^build\/lib\/client\/[a-z-]+\.(?:js|d\.ts)$/,
  /^build\/lib\/(?:sqlite|postgres)\/migrations\/\d{4}_\w+\.sql$/,
  /^build\/(?:console|docs)\/.*\.(?:html|js|css|csv|svg|png|webp|woff2|json|txt|ico|xml|webmanifest)(?:\.br|\.gz)?$/,
];

let packed: Packed;
before(async () => {
  packed = await pack();
});
after(() => packed?.remove());

test('"npx plant-store" runs from the package alone', async () => {
  assert.equal(
    await npm(packed.project, 'exec', '--offline', 'plant-store', '--', '--version'),
    `${manifest.version}\n`,
  );
  assert.match(
    await npm(packed.project, 'exec', '--offline', 'plant-store', '--', '--help'),
    /^Usage: plant-store/,
  );
});

test('a service of the package serves its pages, adds a plant, and sends its webhook', async () => {
  await using cleanup = new AsyncDisposableStack();
  const receiver = await startReceiver();
  cleanup.defer(receiver.stop);
  const { url, stop } = await serve();
  cleanup.defer(async () => void (await stop()));

  for (const page of ['/console/', '/docs/']) await assertPage(`${url}${page}`);
  assert.equal((await fetch(`${url}/openapi.json`)).status, 200);
  const webhook = await post(`${url}/webhooks`, { url: receiver.url });
  assert.equal(webhook.status, 201);
  assert.equal((await post(`${url}/plants`, { name: 'Monstera', id: 7 })).status, 201);
  const [request] = await receiver.receive(1);
  assert.equal(request?.body.toString(), '{"id":7,"name":"Monstera"}');
  const { code, stderr } = await stop();
  assert.equal(code, 0, stderr);
});

test('installed with what it needs, the package takes less than 36 MB', () => {
  const { stdout } = spawnSync('du', ['-sk', join(packed.project, 'node_modules')], { encoding: 'utf8' });
  assert.ok(Number.parseInt(stdout, 10) < 36 * 1024, stdout);
});

test('a service that is to make traces without their packages says how to install them, and then starts', async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const program = join(packed.project, 'node_modules', '.bin', 'plant-store');
  const { status, stderr } = spawnSync(process.execPath, [program, 'serve'], {
    cwd: packed.project,
    env: { ...env, DATA_DIR: 'untouched' },
    encoding: 'utf8',
  });
  const [, command = ''] =
    /^error: OTEL_EXPORTER_OTLP_ENDPOINT: Traces need .*: npm (install( @opentelemetry\/[a-z-]+@[\d.]+)+)\n$/.exec(
      stderr,
    ) ?? [];
  assert.deepEqual([status, existsSync(join(packed.project, 'untouched'))], [2, false], stderr);
  await npm(packed.project, ...command.split(' '), '--ignore-scripts', '--prefer-offline');
  const { stop } = await serve(env);
  const { code, stderr: said } = await stop();
  assert.equal(code, 0, said);
});

for (const [name, project] of [
  ['plant-store/client', 'project'],
  ['plant-store-client', 'clientProject'],
] as const) {
  test(`the client comes as ${name}, with its types`, () => {
    const program = `
      import { type NewPlant, PlantStore, verifyWebhook, WebhookVerificationError } from '${name}';
      export async function nameOf(body: string, headers: Headers): Promise<string> {
        const { payload } = await verifyWebhook(headers, body, 'whsec_${Buffer.alloc(24).toString('base64')}');
        const plant: NewPlant = payload;
        // @ts-expect-error: the types are there, and not any
        plant.nothing;
        return plant.name;
      }
      export async function* names(store: PlantStore): AsyncGenerator<string> {
        for await (const { name } of store.plants.list()) yield name;
      }
      names(new PlantStore({ url: 'http://127.0.0.1', token: 'none' }));
      const failure = await nameOf('{}', new Headers()).catch((error: unknown) => error);
      if (!(failure instanceof WebhookVerificationError)) throw failure;
    `;
    writeFileSync(join(packed[project], 'receiver.ts'), program);
    for (const module of ['nodenext', 'preserve']) {
      const options = ['--noEmit', '--strict', '--module', module, '--target', 'esnext', '--types', ''];
      const { stdout } = spawnSync('tsc', [...options, '--ignoreConfig', 'receiver.ts'], {
        cwd: packed[project],
        encoding: 'utf8',
      });
      assert.equal(stdout, '');
    }
    const { status, stderr } = spawnSync(process.execPath, ['receiver.ts'], { cwd: packed[project] });
    assert.equal(status, 0, stderr.toString());
  });
}

test("the client's own package holds the client, installs nothing else, and has the version of the program", () => {
  const modules = join(packed.clientProject, 'node_modules');
  assert.deepEqual(
    readdirSync(modules).filter((name) => !name.startsWith('.')),
    ['plant-store-client'],
  );
  const files = filesIn(join(modules, 'plant-store-client'));
  assert.deepEqual(
    files.filter((file) => !/^(?:package\.json|README\.md|LICENSE|build\/[a-z-]+\.(?:js|d\.ts))$/.test(file)),
    [],
  );
  assert.ok(files.includes('README.md') && files.includes('LICENSE'), files.join());
  assert.equal(clientManifest.version, manifest.version);
});

test("the client's own package runs on an older Node", async (t) => {
  const older = olderNode();
  if (older === undefined) return t.skip('no Node older than 26 is installed');
  await using cleanup = new AsyncDisposableStack();
  const { url, stop } = await serve({ DATA_DIR: 'for-older' });
  cleanup.defer(async () => void (await stop()));
  const program = `
    import { PlantStore } from 'plant-store-client';
    const store = new PlantStore({ url: '${url}', token: '${TOKEN}' });
    await store.plants.create({ id: 7, name: 'Alder' });
    for await (const { id, name } of store.plants.list()) console.log(id, name);
  `;
  const { stdout, stderr } = spawnSync(older, ['--input-type=module', '--eval', program], {
    cwd: packed.clientProject,
    encoding: 'utf8',
  });
  assert.equal(stdout, '7 Alder\n', stderr);
});

test('the page about installing puts everything where the unit for systemd looks for it', () => {
  const page = readFileSync(join(ROOT, 'docs', 'how-to', 'install.md'), 'utf8');
  const [, commands = ''] = /^## With systemd\n.*?^```bash\n(.*?)^```/ms.exec(page) ?? [];
  const root = join(packed.project, 'root');
  const script = commands
    .replace(/^(?:useradd|systemctl) .*\n/gm, '')
    .replaceAll(' /opt/', ` ${root}/opt/`)
    .replaceAll(' /etc/', ` ${root}/etc/`)
    .replaceAll(' /usr/local/', ` ${root}/usr/local/`);
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
  const { status, stderr } = spawnSync('bash', ['-euc', script], { cwd: packed.project, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const unit = readFileSync(join(root, 'etc', 'systemd', 'system', 'plant-store.service'), 'utf8');
  const [, program = ''] = /^ExecStart=(\S+) serve$/m.exec(unit) ?? [];
  const [, settings = ''] = /^EnvironmentFile=-(\S+)$/m.exec(unit) ?? [];
  for (const path of [program, 'usr/local/bin/plant-store']) {
    assert.equal(spawnSync(process.execPath, [join(root, path), '--version']).status, 0);
  }
  assert.match(readFileSync(join(root, settings), 'utf8'), /^BOOTSTRAP_TOKEN=[0-9a-f]{48}\n$/m);
  assert.equal(statSync(join(root, settings)).mode & 0o777, 0o600);
});

test('on an older Node the program says what to do, even if the npm package "node" is as old', (t) => {
  const older = olderNode();
  if (older === undefined) return t.skip('no Node older than 26 is installed');
  const beside = join(packed.project, 'node_modules', 'node');
  t.after(() => rmSync(beside, { recursive: true, force: true }));
  for (const withOldPackage of [false, true]) {
    if (withOldPackage) {
      mkdirSync(join(beside, 'bin'), { recursive: true });
      writeFileSync(join(beside, 'package.json'), '{ "name": "node", "version": "20.0.0" }');
      symlinkSync(older, join(beside, 'bin', 'node'));
    }
    const { status, stdout, stderr } = versionSaidBy(older);
    assert.match(
      stderr,
      /^error: plant-store needs Node 26 or newer, and this is v\d.*"npm install node@26"\.\n$/,
    );
    assert.deepEqual([status, stdout], [1, '']);
  }
});

test('an older Node hands over to the npm package "node" installed next to the package', (t) => {
  const older = olderNode();
  if (older === undefined) return t.skip('no Node older than 26 is installed');
  const beside = join(packed.project, 'node_modules', 'node');
  symlinkSync(join(ROOT, 'node_modules', 'node'), beside);
  t.after(() => rmSync(beside));
  const { status, stdout, stderr } = versionSaidBy(older);
  assert.deepEqual([status, stdout, stderr], [0, `${manifest.version}\n`, '']);
});

test('the package holds what it needs, and nothing else', () => {
  const files = filesIn(packed.contents);
  assert.deepEqual(
    files.filter((file) => !ALLOWED.some((pattern) => pattern.test(file))),
    [],
  );
  const migrations = globSync('*/migrations/*.sql', { cwd: join(ROOT, 'src', 'store') }).map(
    (file) => `build/lib/${file}`,
  );
  assert.deepEqual(files.filter((file) => file.endsWith('.sql')).sort(), migrations.sort());
  for (const file of [
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
    'build/console/index.html',
    'build/docs/index.html',
  ]) {
    assert.ok(files.includes(file), file);
  }
  assert.ok(statSync(packed.tarball).size < 1.5 * 2 ** 20, `${statSync(packed.tarball).size} bytes`);
});

test('no file of the package tells where it was made, or imports a source', async () => {
  const registry = new URL(await npm(ROOT, 'config', 'get', 'registry')).host;
  const places = [ROOT, dirname(packed.checkout), 'sourceMappingURL', 'file:///'];
  if (registry !== 'registry.npmjs.org') places.push(registry);
  for (const file of filesIn(packed.contents)) {
    const text = readFileSync(join(packed.contents, file), 'utf8');
    for (const place of places) assert.ok(!text.includes(place), `${file} has ${place} in it`);
    if (file.endsWith('.js')) assert.doesNotMatch(text, /['"]\.\.?\/[^'"\n]+\.ts['"]/, file);
  }
});

test('the same sources give the same package, to the byte', () => {
  const tarballs = globSync('*.tgz', { cwd: packed.release });
  assert.equal(tarballs.length, 2);
  for (const name of tarballs)
    assert.equal(sha256(join(packed.second, name)), sha256(join(packed.release, name)), name);
});

test('a release has notes, a list of what is in it, and checksums', () => {
  const { version } = manifest;
  const names = [
    `plant-store-${version}.cdx.json`,
    `plant-store-${version}.md`,
    `plant-store-${version}.tgz`,
    `plant-store-client-${version}.tgz`,
  ];
  assert.deepEqual(filesIn(packed.release), ['SHA256SUMS', ...names]);
  const sums = names.map((name) => `${sha256(join(packed.release, name))}  ${name}\n`).join('');
  assert.equal(readFileSync(join(packed.release, 'SHA256SUMS'), 'utf8'), sums);

  const [sbom = '', notes = ''] = names.map((name) => readFileSync(join(packed.release, name), 'utf8'));
  assert.match(notes, new RegExp(`^# Plant Store ${version}\n\n## Added\n`));
  const { bomFormat, metadata, components } = JSON.parse(sbom);
  assert.deepEqual([bomFormat, metadata.component.name], ['CycloneDX', 'plant-store']);
  const listed = components.map(({ purl }: { purl: string }) => decodeURIComponent(purl)).sort();
  assert.deepEqual(listed, [...new Set(lockedPackages())].sort());
  assert.doesNotMatch(sbom, /"(?:timestamp|url)"/);
});

test('a checkout runs its sources, whatever was compiled there', () => {
  writeFileSync(join(packed.checkout, 'build', 'lib', 'main.js'), 'throw new Error("compiled");\n');
  const program = join(packed.checkout, 'bin', 'plant-store');
  const { status, stderr } = spawnSync(process.execPath, [program, '--version'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});

async function serve(more: Record<string, string> = {}) {
  const program = join(packed.project, 'node_modules', '.bin', 'plant-store');
  const child = spawn(process.execPath, [program, 'serve'], {
    cwd: packed.project,
    env: { PORT: '0', BOOTSTRAP_TOKEN: TOKEN, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = outcomeOf(child);
  const url = greetedUrl(await untilGreeted(child, ended));
  const stop = () => {
    child.kill('SIGTERM');
    return ended;
  };
  return { url, stop };
}

/** A page that is built, with every script and style sheet that it names. */
async function assertPage(url: string): Promise<void> {
  const response = await fetch(url);
  assert.equal(response.status, 200, url);
  const links = (await response.text()).matchAll(/(?:src|href)="([^"#:]+\.(?:js|css))"/g);
  for (const [, link = ''] of links) assert.equal((await fetch(new URL(link, url))).status, 200, link);
}

function post(url: string, body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** What is installed for those who run the package, as package URLs. */
function lockedPackages(): string[] {
  return Object.entries<{ version?: string; dev?: boolean; link?: boolean }>(lock.packages)
    .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && dev !== true && link !== true)
    .map(([path, { version }]) => `pkg:npm/${path.replace(/^.*node_modules\//, '')}@${version}`);
}

/** What the installed program says about its version, started with another Node. */
function versionSaidBy(node: string) {
  const program = join(packed.project, 'node_modules', '.bin', 'plant-store');
  return spawnSync(node, [program, '--version'], { encoding: 'utf8', timeout: 20_000 });
}

function olderNode(): string | undefined {
  const places = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  return places.find((node) => {
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
    return Number(/^v(\d+)/.exec(stdout ?? '')?.[1]) < 26;
  });
}

function filesIn(folder: string): string[] {
  return globSync('**', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
