import type { LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';

/** The addresses that the hosts file gives to a name; undefined for an unknown name. */
export type Hosts = (hostname: string) => LookupAddress[] | undefined;

export const HOSTS_FILE =
  process.platform === 'win32'
    ? `${process.env.SystemRoot ?? 'C:\\Windows'}\\System32\\drivers\\etc\\hosts`
    : '/etc/hosts';

/** Reads a hosts file (hosts(5)), and again whenever it changes. An unreadable file contains no names. */
export function createHosts(file: string): Hosts {
  let version = '';
  let names = new Map<string, LookupAddress[]>();
  return (hostname) => {
    const now = versionOf(file);
    if (now !== version) {
      names = read(file);
      version = now;
    }
    return names.get(plain(hostname));
  };
}

function versionOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}

function read(file: string): Map<string, LookupAddress[]> {
  const names = new Map<string, LookupAddress[]>();
  for (const line of textOf(file).split('\n')) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const alias of aliases) {
      const name = plain(alias);
      names.set(name, [...(names.get(name) ?? []), { address, family }]);
    }
  }
  return names;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Like the machine's own lookup, treats a missing or unreadable file as empty.
    return '';
  }
}

function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
