import type { VNode } from 'preact';
import { Deliveries } from './pages/deliveries.tsx';
import { Delivery } from './pages/delivery.tsx';
import { Missing } from './pages/missing.tsx';
import { Overview } from './pages/overview.tsx';
import { PlantImport } from './pages/plant-import.tsx';
import { Plants } from './pages/plants.tsx';
import { Tokens } from './pages/tokens.tsx';
import { Webhook } from './pages/webhook.tsx';
import { Webhooks } from './pages/webhooks.tsx';
import { match } from './router.ts';

type Values = Record<string, string>;

const ROUTES: readonly [pattern: string, view: (values: Values) => VNode][] = [
  ['/', () => <Overview />],
  ['/plants', () => <Plants />],
  ['/plants/import', () => <PlantImport />],
  ['/webhooks', () => <Webhooks />],
  ['/webhooks/:id', ({ id = '' }) => <Webhook id={id} />],
  ['/deliveries/:id/:event', ({ id = '', event = '' }) => <Delivery webhook={id} event={event} />],
  ['/deliveries', () => <Deliveries />],
  ['/tokens', () => <Tokens />],
];

/** The page at a path of the address. */
export function pageAt(path: string): VNode {
  for (const [pattern, view] of ROUTES) {
    const values = match(pattern, path);
    if (values) return view(values);
  }
  return <Missing />;
}
