import type { Environment } from '../../src/config/config.ts';
import { eventually } from '../../testkit/service/eventually.ts';
import { type Scrape, scrape } from '../../testkit/service/scrape.ts';
import { type Service, startService } from '../../testkit/service/service.ts';

/** A service with metrics. */
export type Measured = Service & {
  metricsUrl: string;
  scrape(): Promise<Scrape>;
  /** Scrapes until this is true: some values are counted just after the client has its answer. */
  until(what: string, isSo: (found: Scrape) => boolean): Promise<Scrape>;
};

export async function startMeasured(env: Environment = {}): Promise<Measured> {
  const service = await startService({ METRICS_PORT: '0', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', ...env });
  const { metricsUrl = '' } = service;
  return {
    ...service,
    metricsUrl,
    scrape: () => scrape(metricsUrl),
    until: (what, isSo) =>
      eventually(what, async () => {
        const found = await scrape(metricsUrl);
        return isSo(found) ? found : undefined;
      }),
  };
}
