import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, type Environment, readConfig } from '../../src/config/config.ts';

function problemOf(env: Environment): string {
  try {
    readConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return '';
}

test('without settings no traces are recorded, and the others have the defaults of OpenTelemetry', () => {
  const config = readConfig({});
  assert.equal(config.otelExporterOtlpEndpoint, undefined);
  assert.deepEqual(config.otelExporterOtlpHeaders, {});
  assert.equal(config.otelServiceName, 'plant-store');
  assert.equal(config.otelTracesSampler, 'parentbased_always_on');
  assert.equal(config.otelTracesSamplerArg, 1);
});

test('the collector is an http or https URL, whose value no message repeats', () => {
  const endpoint = (text: string) =>
    readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: text }).otelExporterOtlpEndpoint;
  assert.equal(endpoint('http://localhost:4318/'), 'http://localhost:4318');
  assert.equal(endpoint('https://otlp.example.com/otlp'), 'https://otlp.example.com/otlp');
  for (const wrong of ['localhost:4318', 'grpc://hidden', 'http://hidden/?key=1', 'http://hid den/']) {
    const problem = problemOf({ OTEL_EXPORTER_OTLP_ENDPOINT: wrong });
    assert.match(problem, /^OTEL_EXPORTER_OTLP_ENDPOINT: The collector must be an http or https URL/);
    assert.ok(!problem.includes('hid'));
  }
});

test('header fields and attributes are pairs, percent-encoded; no message repeats them', () => {
  const { otelExporterOtlpHeaders, otelResourceAttributes } = readConfig({
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20YTpi, x-key = a=b==,',
    OTEL_RESOURCE_ATTRIBUTES: 'region=M%C3%BCnchen,empty=',
  });
  assert.deepEqual(otelExporterOtlpHeaders, { authorization: 'Basic YTpi', 'x-key': 'a=b==' });
  assert.deepEqual(otelResourceAttributes, { region: 'München', empty: '' });
  for (const wrong of ['hidden', '=hidden', 'a=%zz-hidden', 'a b=hidden', 'a=hidden%0d%0ab']) {
    const problem = problemOf({ OTEL_EXPORTER_OTLP_HEADERS: wrong });
    assert.match(problem, /^OTEL_EXPORTER_OTLP_HEADERS: The headers must be name=value/);
    assert.ok(!problem.includes('hidden'));
  }
  assert.match(problemOf({ OTEL_RESOURCE_ATTRIBUTES: 'alone' }), /must be name=value/);
});

test("a sampler is one of OpenTelemetry's, and its share is from 0 to 1", () => {
  const { otelTracesSampler, otelTracesSamplerArg } = readConfig({
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.05',
  });
  assert.deepEqual([otelTracesSampler, otelTracesSamplerArg], ['parentbased_traceidratio', 0.05]);
  for (const right of ['0', '1', '1.0', '.5']) readConfig({ OTEL_TRACES_SAMPLER_ARG: right });
  for (const wrong of ['1.5', '-1', '5%', 'NaN', '1e-2']) {
    assert.match(problemOf({ OTEL_TRACES_SAMPLER_ARG: wrong }), /must be a number from 0 to 1, not/);
  }
  assert.match(problemOf({ OTEL_TRACES_SAMPLER: 'jaeger_remote' }), /must be one of always_on, always_off/);
});
