import { needingAttention, type Step } from '../../../packages/client/src/attention.ts';
import { PlantStoreError } from '../../../packages/client/src/plant-store-error.ts';
import type { Webhook } from '../../../packages/client/src/schemas.ts';
import { ConfigError } from '../../config/config.ts';
import { connect, type Service } from '../api.ts';
import { type Api, type ApiFlags, readApi } from '../api-options.ts';
import { Failure } from '../failure.ts';
import { renderFields } from '../terminal/table.ts';
import { type Line, print, printJson, say, shellWord } from '../terminal/terminal.ts';
import { option, type Verb } from '../verb.ts';

type StatusFlags = ApiFlags & { json?: true };

/** The result of one request; `problem` is a sentence. */
type Probe = { ok: boolean; latencyMs: number; problem: string | undefined };

export const verb: Verb = {
  options: [option('--json', 'print JSON: {url, alive, ready, plants, webhooks}')],
  examples: ['status', 'status --url https://plants.example.org --json'],
  notes: `Shows whether a service is alive and ready, and how fast it answers. With a token, it also shows the health of your
webhooks: first those that need attention, with what to do. The exit code is 1 when the service is not ready, and when the
token gives access to neither plants nor webhooks.`,
  isRemote: true,
  run,
};

async function run(flags: StatusFlags): Promise<void> {
  const { api, hasToken } = apiOf(flags);
  const found = await look(api, hasToken);
  const isRefused = found.plants?.ok === false && typeof found.webhooks === 'string';
  if (found.ready?.ok !== true || isRefused) process.exitCode = 1;
  if (flags.json) printJson(found);
  else show(found, hasToken);
}

/** A token is optional here. */
function apiOf(flags: ApiFlags): { api: Api; hasToken: boolean } {
  try {
    return { api: readApi(flags), hasToken: true };
  } catch (error) {
    if (!(error instanceof ConfigError) || flags.token !== undefined || process.env.PLANT_STORE_TOKEN)
      throw error;
    // Probes without a token ignore it; this throws again for any other problem.
    return { api: readApi({ ...flags, token: 'none' }), hasToken: false };
  }
}

type Status = Awaited<ReturnType<typeof look>>;

async function look(api: Api, hasToken: boolean) {
  const service = connect(api);
  const alive = await probe(service, ['healthz']);
  const ready = alive.ok ? await probe(service, ['readyz']) : undefined;
  const isOpen = hasToken && ready?.ok === true;
  return {
    url: api.url,
    alive,
    /** Undefined when it is not alive. */
    ready,
    /** Undefined without a token, or when it is not ready. */
    plants: isOpen ? await probe(service, ['plants'], { limit: 1, fields: 'id,name,tag,owner' }) : undefined,
    /** The same; a string says why they are unknown. */
    webhooks: isOpen ? await webhooksOf(service) : undefined,
  };
}

async function probe({ read }: Service, path: readonly string[], query = {}): Promise<Probe> {
  const startedAt = performance.now();
  const problem = await read({ path, query }).then(() => undefined, problemOf);
  const latencyMs = Number((performance.now() - startedAt).toFixed(1));
  return { ok: problem === undefined, latencyMs, problem };
}

async function webhooksOf(service: Service) {
  try {
    const webhooks = await service.webhooks.list();
    return {
      count: webhooks.length,
      waiting: webhooks.reduce((sum, { waiting }) => sum + waiting, 0),
      failed: webhooks.reduce((sum, { failed }) => sum + failed, 0),
      attention: attentionOf(webhooks),
    };
  } catch (error) {
    return problemOf(error);
  }
}

function attentionOf(webhooks: readonly Webhook[]) {
  return needingAttention(webhooks).map(({ webhook: { id, url }, problem, step }) => ({
    webhook: id,
    url,
    problem,
    advice: adviceFor(step, shellWord(id)),
  }));
}

/** @param id as a shell word, to be pasted */
function adviceFor(step: Step, id: string): string {
  const list = `find out why: plant-store delivery list ${id}`;
  if (step.do === 'enable') return `once the receiver works again: plant-store webhook enable ${id}`;
  if (step.do === 'look') return step.at === undefined ? list : `${list} --state ${step.at}`;
  return `${list} --state failed; then resend them: plant-store webhook replay ${id} --since 7d --state failed`;
}

/** Throws errors that are bugs. */
function problemOf(error: unknown): string {
  if (error instanceof PlantStoreError || error instanceof Failure) return error.message;
  throw error;
}

function show({ url, alive, ready, plants, webhooks }: Status, hasToken: boolean): void {
  const lines = [
    ['Service', url],
    ['Alive', alive.ok ? 'yes' : `no: ${alive.problem}`],
    ['Ready', ready && (ready.ok ? `yes, ${ready.latencyMs} ms` : `no: ${ready.problem}`)],
    [
      'Plants',
      plants && (plants.ok ? `can be read, ${plants.latencyMs} ms` : `cannot be read: ${plants.problem}`),
    ],
    ['Webhooks', webhooks && webhooksText(webhooks)],
  ] as const;
  print(renderFields(lines));
  if (typeof webhooks === 'object') for (const each of webhooks.attention) print(attentionLines(each));
  if (ready?.ok === true && !hasToken) {
    say(
      'With a token it also shows the health of your webhooks: set PLANT_STORE_TOKEN, or run plant-store login.',
    );
  }
  if (alive.ok && ready?.ok === false) {
    say('It is alive but not ready. To find out why, run on its machine: plant-store doctor');
  }
}

function webhooksText(webhooks: NonNullable<Status['webhooks']>): string {
  if (typeof webhooks === 'string') return `unknown: ${webhooks}`;
  const { count, waiting, failed, attention } = webhooks;
  if (count === 0) return 'none';
  const ill =
    attention.length === 0
      ? 'all well'
      : `${attention.length} need${attention.length === 1 ? 's' : ''} attention`;
  return `${count}, ${ill}; ${waiting} waiting, ${failed} failed`;
}

function attentionLines({ webhook, url, problem, advice }: ReturnType<typeof attentionOf>[number]): Line[] {
  return ['', [{ style: 'yellow', text: '!' }, ` ${webhook} ${url}`], `  ${problem}`, `  ${advice}`];
}
