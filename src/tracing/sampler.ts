import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { SamplerName } from './port.ts';

/** @param ratio of traces, for ratio samplers */
export function samplerOf(name: SamplerName, ratio: number): Sampler {
  const parents = 'parentbased_';
  // Without the prefix, the name is one of the others.
  if (name.startsWith(parents)) {
    return new ParentBasedSampler({ root: samplerOf(name.slice(parents.length) as SamplerName, ratio) });
  }
  if (name === 'always_off') return new AlwaysOffSampler();
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
}
