import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../testkit/sockets/free-port.ts';
import { atEnd, temporaryFolder } from '../../servers/cleanup.ts';
import { isInstalled } from '../../servers/tools.ts';
import { type PostgresServer, queryOnce } from './servers.ts';

export const hasPgbouncer = (): boolean => isInstalled('pgbouncer');

const LOOK_MS = 30;

/** PgBouncer in front of a server: each transaction gets another of a few sessions. */
export async function startPgbouncer(
  server: PostgresServer,
): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = temporaryFolder().path;
  const [port, file, users] = [await freePort(), join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')];
  const { username, password } = new URL(server.url());
  writeFileSync(users, `"${username}" "${password}"\n`);
  const settings = [
    '[databases]',
    `* = host=127.0.0.1 port=${server.port}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
    `auth_type = scram-sha-256\nauth_file = ${users}`,
    'pool_mode = transaction\ndefault_pool_size = 10\nmax_client_conn = 200',
  ];
  writeFileSync(file, `${settings.join('\n')}\n`);
  const isRoot = process.getuid?.() === 0;
  // It refuses to run as root.
  if (isRoot) execFileSync('chown', ['-R', 'postgres', folder]);
  const child = spawn('pgbouncer', [...(isRoot ? ['-u', 'postgres'] : []), '-q', file], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  void ended.then(atEnd(() => child.kill('SIGKILL')));
  const url = server.url().replace(`:${server.port}/`, `:${port}/`);
  for (;;) {
    if (child.exitCode !== null) throw new Error(`PgBouncer did not start with ${file}`);
    const isUp = await queryOnce(url, 'SELECT 1').then(
      () => true,
      () => false,
    );
    if (isUp) break;
    await sleep(LOOK_MS);
  }
  return {
    url,
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
