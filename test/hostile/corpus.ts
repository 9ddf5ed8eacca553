import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Environment } from '../../src/config/config.ts';
import { type Service, startService } from '../../testkit/service/service.ts';
import type { Family } from './case.ts';
import { authorization } from './cases/authorization.ts';
import { bodies } from './cases/bodies.ts';
import { cursors } from './cases/cursors.ts';
import { fields } from './cases/fields.ts';
import { framing } from './cases/framing.ts';
import { idempotencyKeys } from './cases/idempotency-keys.ts';
import { ids } from './cases/ids.ts';
import { json, jsonTexts } from './cases/json.ts';
import { pipelines } from './cases/pipelines.ts';
import { queries } from './cases/queries.ts';
import { targets } from './cases/targets.ts';
import { upgradesAndExpectations } from './cases/upgrades.ts';
import { webhookUrls } from './cases/webhook-urls.ts';
import { playFamily } from './play.ts';
import { playReceivers } from './play-receivers.ts';
import { receivers } from './receivers.ts';
import { RECEIVERS } from './webhook.ts';

/**
 * Hostile inputs, each with the answer that the contract and the standards require. In addition, for every case: no
 * 5xx except 501 and 505, a failure has exactly the Error object and reveals no secret, no answer belongs to another
 * request, and the store has exactly the plants that were answered 201.
 */
const families: readonly [family: Family, least: number][] = [
  [json, 318],
  [bodies, 100],
  [framing, 120],
  [pipelines, 80],
  [upgradesAndExpectations, 60],
  [targets, 150],
  [fields, 100],
  [authorization, 80],
  [idempotencyKeys, 40],
  [ids, 80],
  [queries, 100],
  [cursors, 60],
  [webhookUrls, 150],
];

const RECEIVERS_AT_LEAST = 50;
/** Minimum numbers of distinct texts and of cases. */
const JSON_TEXTS_AT_LEAST = 318;
const CASES_AT_LEAST = 1_200;

/** Runs the corpus against a service with these settings. */
export function playCorpus(store: string, settings: () => Promise<Environment>): void {
  let service: Service;
  let received: Promise<string[]>;
  before(async () => {
    service = await startService({
      // Most families send invalid tokens, from one address.
      AUTH_FAILURE_LIMIT: '0',
      WEBHOOK_ALLOWED_NETWORKS: RECEIVERS.network,
      WEBHOOK_RETRY_SCHEDULE: '0s',
      ...(await settings()),
    });
    // Some hang until the deadline of an attempt; everything else runs meanwhile.
    received = playReceivers(service);
    received.catch(() => {});
  });
  after(() => service.stop());

  for (const [family, least] of families) {
    test(`${family.name}, hostile, on ${store}`, async () => {
      const names = family.cases.map(({ name }) => name);
      assert.equal(new Set(names).size, names.length, 'two cases have one name');
      assert.ok(names.length >= least, `${names.length} cases`);
      report(names.length, await playFamily(service, family));
    });
  }

  test(`receivers, hostile, on ${store}`, async () => {
    assert.ok(receivers.length >= RECEIVERS_AT_LEAST, `${receivers.length} receivers`);
    report(receivers.length, await received);
  });

  test(`the corpus is as large as it should be, on ${store}`, () => {
    const cases = families.reduce((sum, [family]) => sum + family.cases.length, receivers.length);
    assert.ok(jsonTexts >= JSON_TEXTS_AT_LEAST, `${jsonTexts} JSON texts`);
    assert.ok(cases >= CASES_AT_LEAST, `${cases} cases`);
  });
}

function report(cases: number, problems: readonly string[]): void {
  assert.equal(problems.length, 0, `${problems.length} problems in ${cases} cases:\n${problems.join('\n')}`);
}
