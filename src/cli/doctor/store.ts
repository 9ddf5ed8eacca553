import { existsSync, statSync } from 'node:fs';
import { type Glance, glanceAt } from '../../store/sqlite/deliveries/glance.ts';
import { fileSize } from '../../store/sqlite/files/file-size.ts';
import { quickCheck } from '../../store/sqlite/files/quick-check.ts';
import { aliasesOf } from '../../store/sqlite/files/restore.ts';
import { checks as limits } from '../limits.ts';
import { sqliteReason } from '../service/store-failure.ts';
import { sizeText } from '../service/whole-progress.ts';
import { shellWord } from '../terminal/terminal.ts';
import { type Finding, ok, problem, reasonIn, warning } from './check.ts';

const NAME = 'Store';
const RESTORE =
  'Stop the service, keep a copy of the folder, and restore a backup: plant-store restore FILE.';

/** What a look at the embedded store found, and what the checks behind it need; undefined when it cannot be read. */
export type StoreLook = { findings: Finding[]; glance: Glance | undefined };

export function lookAtStore(path: string): StoreLook {
  if (!existsSync(path) && fileSize(`${path}-wal`) === 0) {
    const advice = 'The first start makes one: plant-store serve. If there should be one, see DATA_DIR.';
    return { findings: [warning(NAME, `there is none at ${path}`, advice)], glance: undefined };
  }
  try {
    const glance = glanceAt(path);
    return { findings: [schemaOf(glance), ...filesOf(path, glance)], glance };
  } catch (error) {
    return { findings: [unreadable(path, error)], glance: undefined };
  }
}

function unreadable(path: string, error: unknown): Finding {
  if (existsSync(`${path}-journal`)) {
    const text = `${path} cannot be read: a restore was broken off in the middle of a change`;
    return problem(
      NAME,
      text,
      'Nothing is lost: the same restore once more, or the next start, finishes it.',
    );
  }
  const reason = sqliteReason(error);
  if (reason === undefined)
    return problem(NAME, `${path}: ${reasonIn(error)}`, 'See that it is the right folder.');
  return problem(NAME, `${path} cannot be read: ${reason}`, RESTORE);
}

function schemaOf({ schema: { applied, known }, bytes, logBytes }: Glance): Finding {
  if (applied === known) return ok(NAME, `schema ${applied}, ${sizeText(bytes + logBytes)} on disk`);
  return warning(
    NAME,
    `schema ${applied} of ${known}: of an older version of plant-store`,
    'The next start brings it up to date, and there is no way back but a backup: plant-store backup FILE.',
  );
}

function filesOf(path: string, { logBytes }: Glance): Finding[] {
  const findings: Finding[] = [];
  const { mode } = statSync(path);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    const text = `${path} may be read by others, and holds secrets`;
    findings.push(warning(NAME, text, `chmod 600 ${shellWord(path)}`));
  }
  for (const alias of aliasesOf(path)) {
    const text = `${alias} is a second name of the store that is in use: a restore was broken off`;
    findings.push(warning(NAME, text, `Remove that name, the store stays: rm ${shellWord(alias)}`));
  }
  const log = sizeText(logBytes);
  if (logBytes < limits.logBytes) findings.push(ok('Write-ahead log', log));
  else {
    const advice =
      'See whether another program reads the store all the time; a restart of the service folds it in.';
    findings.push(warning('Write-ahead log', `${log}: it is not folded into the store`, advice));
  }
  return findings;
}

/** Reads all of it, as long as that does not take too long. */
export async function checkIntegrity(path: string): Promise<Finding[]> {
  const name = 'Integrity';
  const found = await quickCheck(path, limits.readMs);
  if (found === 'ok') return [ok(name, 'every page can be read')];
  if (found === 'late') {
    const text = `the store could not be read within ${limits.readMs / 1000} s, as far as it came it is whole`;
    return [
      warning(name, text, 'A backup checks all of it, however long that takes: plant-store backup FILE.'),
    ];
  }
  return [problem(name, `the store is damaged: ${found.replaceAll('\n', ' ')}`, RESTORE)];
}
