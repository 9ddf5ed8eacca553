import { type Logger, type LoggerOptions, pino } from 'pino';
import type { Config } from '../config.ts';

/** The log on standard output. It is written at once, so that the last lines before a crash are there. */
export async function createLog({ logLevel, logFormat }: Config): Promise<Logger> {
  const options: LoggerOptions = { level: logLevel, timestamp: pino.stdTimeFunctions.isoTime };
  const format = logFormat ?? (process.stdout.isTTY ? 'pretty' : 'json');
  if (format === 'json') return pino(options);
  const { build } = await import('pino-pretty');
  return pino(options, build({ sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' }));
}
