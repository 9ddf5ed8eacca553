import { type Config, type Flags, readConfig } from '../../config/config.ts';
import { systemRuntime } from '../../runtime.ts';
import { messageOf } from '../failure.ts';
import { stopSignal } from '../terminal/signals.ts';
import { insist, say } from '../terminal/terminal.ts';
import { settingOptions, type Verb } from '../verb.ts';
import { greeting } from './greeting.ts';
import { startFailure } from './start-failure.ts';

export const verb: Verb = {
  options: settingOptions(),
  examples: [
    'serve',
    'serve --port 8080 --host 0.0.0.0 --data-dir /var/lib/plant-store',
    'serve --webhook-allowed-networks 10.0.0.0/8,127.0.0.0/8',
  ],
  notes: `With DATABASE_URL=postgres://… the store is in that database, for any number of replicas. Each setting is also an
environment variable, named in brackets; the flag wins. BOOTSTRAP_TOKEN, DATABASE_URL and OTEL_EXPORTER_OTLP_HEADERS have
no flag, since every user of the machine can read a command line.`,
  run,
};

async function run(flags: Flags): Promise<void> {
  const config = readConfig(process.env, flags);
  try {
    await serveUntilStopped(config);
    process.exit(0);
  } catch (error) {
    die(startFailure(error, config));
  }
}

async function serveUntilStopped(config: Config): Promise<void> {
  const [{ createLog }, { startApp }] = await Promise.all([import('./log.ts'), import('../../app.ts')]);
  const log = await createLog(config);
  const runtime = systemRuntime(log);
  const stopped = stopSignal(runtime.clock);
  const app = await startApp(config, runtime, { log, onFatal: die });
  // The first token is shown only once.
  const tell = app.firstToken === undefined ? say : insist;
  tell(...greeting(app.url, config, app.firstToken));
  const signal = await stopped;
  // Ctrl+C comes from a person, SIGTERM from a supervisor.
  const report = (message: string) =>
    signal === 'SIGINT' ? say(`${message}.`) : log.info({ signal }, message.toLowerCase());
  report('Stopping');
  await app.stop();
  report('Stopped');
}

/** Ends at once, whatever is open: only a new start can find out the outcome of an unknown commit. */
function die(error: unknown): never {
  insist(...messageOf(error));
  process.exit(1);
}
