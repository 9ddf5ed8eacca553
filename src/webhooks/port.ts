import type { PlantId } from '../plants/plant.ts';

/** What webhooks need of a store. */
export interface WebhookStore {
  createWebhook(webhook: NewWebhook): Promise<void>;
  /** The owner's webhooks, oldest first. */
  webhooks(owner: number): Promise<Webhook[]>;
  /** Removes the webhook with its secrets and deliveries. False when the owner has no such webhook. */
  deleteWebhook(owner: number, id: string): Promise<boolean>;

  /**
   * Leases due deliveries, oldest first, at most `perWebhook` less `busy` for each webhook and `limit` in
   * all, dealt out in turn so that no webhook takes another's share. Each claim raises the fence.
   */
  claim(request: ClaimRequest): Promise<Claim[]>;
  /** Writes down what became of a claim. False, and nothing changed, when its fence is no longer the newest. */
  record(outcome: DeliveryOutcome): Promise<boolean>;
  /** Makes every lease end now. For the start, when the process that held them is gone, and for the drain. */
  releaseLeases(now: number): Promise<void>;
  /** When the next delivery becomes due, or a lease ends. */
  nextDue(): Promise<number | undefined>;
  /** Calls back after a commit that made deliveries due. A hint: polling finds them without it. */
  onDue(listener: () => void): void;
}

export type WebhookStatus = 'enabled' | 'disabled';

export type Webhook = {
  id: string;
  owner: number;
  url: string;
  description: string | undefined;
  status: WebhookStatus;
  /** `whpk_…` (Standard Webhooks). */
  publicKey: string;
  createdAt: number;
};

export type NewWebhook = Omit<Webhook, 'status'> & SigningKeys;

export type SigningKeys = {
  /** `whsec_…`: live secrets, newest first. */
  secrets: readonly string[];
  /** `whsk_…`: the ed25519 private key. */
  privateKey: string;
};

export type ClaimRequest = {
  now: number;
  leaseUntil: number;
  perWebhook: number;
  limit: number;
  /** Requests under way, by webhook id. */
  busy: ReadonlyMap<string, number>;
};

export type Claim = {
  webhook: { id: string; url: string } & SigningKeys;
  event: PlantCreated;
  /** Attempts that were recorded before this one. */
  attempts: number;
  fence: number;
};

/** The event `plant.created`: the plant as it was created. */
export type PlantCreated = {
  id: string;
  /** Milliseconds since the Unix epoch. */
  at: number;
  plant: { id: PlantId; name: string; tag: string | undefined };
};

export type DeliveryOutcome = {
  webhook: string;
  event: string;
  fence: number;
  attempts: number;
  /** Why the last attempt failed; undefined for one that did not. */
  reason: string | undefined;
} & ({ state: 'delivered' | 'failed' } | { state: 'pending'; due: number });
