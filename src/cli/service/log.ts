import { type Logger, type LoggerOptions, pino } from 'pino';
import type { Config } from '../../config/config.ts';
import { isOutputShown, safeJson, visible } from '../terminal/terminal.ts';

/** What a full disk keeps from being written, in bytes. Later lines are lost; the service goes on without them. */
const MAX_UNWRITTEN = 1_048_576;

/** Logs to standard output, synchronously, so that the last lines before a crash are there. */
export async function createLog({ logLevel, logFormat }: Config): Promise<Logger> {
  const options: LoggerOptions = { level: logLevel, timestamp: pino.stdTimeFunctions.isoTime };
  const destination = pino.destination({ dest: 1, sync: true, maxLength: MAX_UNWRITTEN });
  // Where the log cannot be written, nobody can be told. The next line tries again.
  destination.on('error', () => {});
  const format = logFormat ?? (isOutputShown() ? 'pretty' : 'json');
  if (format === 'json') {
    return pino(isOutputShown() ? { ...options, hooks: { streamWrite: safeJson } } : options, destination);
  }
  const { build } = await import('pino-pretty');
  return pino(
    { ...options, hooks: { streamWrite: visibleEntry } },
    build({ destination, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' }),
  );
}

/** Escapes control characters in an entry, because pino-pretty decodes the escapes of JSON. */
function visibleEntry(json: string): string {
  const shown = (key: string, value: unknown) => {
    if (typeof value !== 'string') return value;
    return key === 'stack' ? value.split('\n').map(visible).join('\n') : visible(value);
  };
  return `${JSON.stringify(JSON.parse(json, shown))}\n`;
}
