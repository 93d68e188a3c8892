/** Traces. The names are those of the OpenTelemetry specification. */
import { choice, keyValueList, ratio, url } from './readers.ts'
import { optional, setting } from './setting.ts'

export const traceSettings = {
  otlpEndpoint: optional({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    read: url,
    description:
      'URL of an OpenTelemetry collector that receives OTLP by HTTP, such as `http://localhost:4318`; ' +
      '`/v1/traces` is added to it. If it is not set, no traces are recorded.',
    guide: 'monitoring',
  }),
  otlpHeaders: setting({
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    read: keyValueList,
    default: '',
    description: 'Headers of requests to the collector: `name=value`, separated by commas, percent-encoded.',
    guide: 'monitoring',
  }),
  tracesSampler: setting({
    env: 'OTEL_TRACES_SAMPLER',
    read: choice('traceidratio', 'parentbased_traceidratio'),
    default: 'traceidratio',
    description:
      'Who decides which requests are recorded: `traceidratio` records `OTEL_TRACES_SAMPLER_ARG` of them; ' +
      '`parentbased_traceidratio` also records each request whose `traceparent` says so and that has a valid key.',
    guide: 'monitoring',
  }),
  traceRatio: setting({
    env: 'OTEL_TRACES_SAMPLER_ARG',
    read: ratio,
    default: '1',
    description: 'The part of requests and SMTP transactions whose traces are recorded, from 0 to 1.',
    guide: 'monitoring',
  }),
  traceResource: setting({
    env: 'OTEL_RESOURCE_ATTRIBUTES',
    read: keyValueList,
    default: '',
    description:
      'Attributes of all spans of this process, such as `deployment.environment.name=production`: `name=value`, ' +
      'separated by commas, percent-encoded.',
    guide: 'monitoring',
  }),
}
