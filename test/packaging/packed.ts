import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };

/** The package as it is made of this checkout, and a folder where it is installed as anybody would install it. */
export type Packed = {
  /** The folder with all that `npm run release` made. */
  release: string;
  tarball: string;
  /** A folder of another name with the tarballs that `npm pack` made there of the same sources. */
  second: string;
  /** What the tarball holds, unpacked. */
  contents: string;
  /** A copy of the sources, which was built. */
  checkout: string;
  /** A project with nothing but the package and its dependencies. */
  project: string;
  /** A project with nothing but the client's own package. */
  clientProject: string;
  remove(): void;
};

const ROOT = join(import.meta.dirname, '..', '..');
const exec = promisify(execFile);

/** Needs the registry for the installation. Nothing is built in the checkout itself. */
export async function pack(): Promise<Packed> {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-package-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    return { ...(await packInto(folder)), remove };
  } catch (error) {
    remove();
    throw error;
  }
}

async function packInto(folder: string): Promise<Omit<Packed, 'remove'>> {
  const checkout = copySources(join(folder, 'checkout'));
  const second = copySources(join(folder, 'elsewhere', 'clone'));
  await Promise.all([
    npm(checkout, 'run', '--silent', 'release'),
    npm(second, 'pack', '--workspaces', '--include-workspace-root'),
  ]);
  const release = join(checkout, 'build', 'release');
  const tarball = join(release, `plant-store-${manifest.version}.tgz`);
  const clientTarball = join(release, `plant-store-client-${manifest.version}.tgz`);

  const unpacked = join(folder, 'unpacked');
  mkdirSync(unpacked);
  await exec('tar', ['-xzf', tarball, '-C', unpacked]);

  const project = await install(tarball, join(folder, 'project'));
  const clientProject = await install(clientTarball, join(folder, 'client-project'));
  return { release, tarball, second, contents: join(unpacked, 'package'), checkout, project, clientProject };
}

/** Makes a project with nothing but this package. */
async function install(tarball: string, project: string): Promise<string> {
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  cpSync(tarball, join(project, basename(tarball)));
  const options = ['--omit=dev', '--ignore-scripts', '--prefer-offline'];
  await npm(project, 'install', ...options, `./${basename(tarball)}`);
  return project;
}

/** Runs npm as a person would: without what the npm that runs the tests tells its scripts. */
export async function npm(folder: string, ...args: string[]): Promise<string> {
  const isOfTheOther = (name: string) =>
    /^(?:npm_(?:package|lifecycle|config_local_prefix)|INIT_CWD)/.test(name);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfTheOther(name)));
  const { stdout } = await exec('npm', args, { cwd: folder, env });
  return stdout;
}

/** What git would have of the project, and the packages that `npm ci` installed. */
function copySources(folder: string): string {
  const named = [
    'bin',
    'src',
    'packages',
    'console',
    'docs',
    'examples',
    'ops',
    'LICENSE',
    '.env.example',
    '.npmrc',
  ];
  for (const name of [...named, ...globSync('*.{json,md}', { cwd: ROOT })]) {
    if (existsSync(join(ROOT, name))) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
