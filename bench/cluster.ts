import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createNetwork, on, removeNetwork } from './cluster/network.ts';
import { FAKETIME, POSTGRES_FOLDER } from './cluster/servers.ts';
import { USAGE } from './cluster/usage.ts';
import { atEnd, temporaryFolder } from './servers/cleanup.ts';
import { isInstalled } from './servers/tools.ts';

/**
 * `node bench/cluster.ts`: the service on a whole cluster, each machine in its own network namespace, and seeded faults.
 * This process creates and removes the machines; everything else runs on them (`cluster/run.ts`).
 */

if (process.argv.includes('--help')) {
  process.stdout.write(USAGE);
  process.exit();
}
const reason = whyNot();
if (reason !== undefined) {
  process.stderr.write(`${reason}\n`);
  process.exit(2);
}
const folder = temporaryFolder();
if (process.argv.includes('--logs')) folder.keep();
atEnd(removeNetwork);
createNetwork();
const run = fileURLToPath(new URL('cluster/run.ts', import.meta.url));
const [file = '', ...args] = on('clients', [process.execPath, run, folder.path, ...process.argv.slice(2)]);
const [code] = await once(spawn(file, args, { stdio: 'inherit' }), 'exit');
if (code !== 0) folder.keep();
process.exit(code ?? 1);

/** Why the cluster cannot run here; undefined when it can. */
function whyNot(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'The cluster needs Linux, and root for its network namespaces.';
  const programs = ['patroni', 'etcd', 'haproxy', 'pgbouncer', 'nft', 'ip', 'gcc'];
  const missing = programs.filter((program) => !isInstalled(program));
  for (const path of [`${POSTGRES_FOLDER}/postgres`, FAKETIME]) if (!existsSync(path)) missing.push(path);
  if (missing.length === 0) return undefined;
  return `Missing: ${missing.join(', ')}. On Debian 12: apt-get install patroni etcd-server postgresql-15 haproxy pgbouncer nftables iproute2 faketime gcc`;
}
