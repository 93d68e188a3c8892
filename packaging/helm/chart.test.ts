/**
 * The chart, by the examples that helm rendered (packaging/build check-chart): they belong to this chart, and what they
 * contain keeps the promises of docs/guides/installing.md. No helm is needed here.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { assert } from 'chai'
import { parse, parseAllDocuments } from 'yaml'
import { SETTINGS } from '#config/schema.ts'
import { KEY_ROLES } from '#src/crypto/purposes.ts'

type Peers = readonly { readonly from?: unknown; readonly ports: readonly { readonly port: number }[] }[]

interface Container {
  readonly name: string
  readonly image: string
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly securityContext: Readonly<Record<string, unknown>>
  readonly livenessProbe?: object
  readonly resources: { readonly limits: { readonly memory: string } }
}

interface Pod {
  readonly spec: {
    readonly containers: readonly Container[]
    readonly securityContext: { readonly runAsNonRoot: boolean; readonly runAsUser: number }
    readonly terminationGracePeriodSeconds: number
    readonly automountServiceAccountToken: boolean
  }
}

interface KubernetesObject {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
  readonly spec: {
    readonly template?: Pod
    readonly ports?: readonly { readonly port: number; readonly targetPort: string }[]
    readonly ingress?: Peers
  }
}

const FOLDER = import.meta.dirname
const read = (...path: string[]): string => readFileSync(join(FOLDER, ...path), 'utf8')
const { chartChecksum, listExamples } = (await import(join(FOLDER, 'checksum.mjs'))) as {
  chartChecksum: (example: string) => string
  listExamples: () => string[]
}
const VALUES = parse(read('mailstead/values.yaml')) as Record<string, unknown> & { readonly https: object }
const HTTPS = { ...VALUES.https, enabled: true }

function objectsOf(example: string): KubernetesObject[] {
  return parseAllDocuments(read('rendered', example)).map((document) => document.toJS() as KubernetesObject)
}

function podsOf(example: string): (Pod['spec'] & { readonly of: KubernetesObject })[] {
  return objectsOf(example).flatMap((object) =>
    object.spec.template === undefined ? [] : [{ ...object.spec.template.spec, of: object }],
  )
}

function namesOf(example: string, kind: string): string[] {
  return objectsOf(example)
    .filter((object) => object.kind === kind)
    .map(({ metadata }) => metadata.name)
}

describe('the chart', () => {
  it('has the version of this program', () => {
    const { version } = JSON.parse(read('../../package.json')) as { version: string }
    const chart = parse(read('mailstead/Chart.yaml')) as { version: string; appVersion: string }
    assert.deepEqual([chart.version, chart.appVersion], [version, version])
  })

  describe('checks values by its schema', () => {
    const validate = new Ajv({ strictTypes: false }).compile(JSON.parse(read('mailstead/values.schema.json')) as object)
    const rows: readonly [what: string, values: object, isValid: boolean][] = [
      ['its own values', VALUES, true],
      ['an unknown value', { ...VALUES, replicas: 2 }, false],
      ['live without a host name', { ...VALUES, mode: 'live' }, false],
      ['https without an https URL', { ...VALUES, https: HTTPS }, false],
      ['https with one', { ...VALUES, https: HTTPS, publicUrl: 'https://mail.example.com' }, true],
      ['a challenge that does not exist', { ...VALUES, https: { ...HTTPS, acmeChallenge: 'http' } }, false],
      ['a setting that is not upper case', { ...VALUES, settings: { logLevel: 'debug' } }, false],
      ['a digest that is none', { ...VALUES, image: { repository: 'x', digest: 'sha256:1' } }, false],
    ]
    for (const [what, values, isValid] of rows)
      it(`${isValid ? 'accepts' : 'refuses'} ${what}`, () => assert.strictEqual(validate(values), isValid))
  })

  for (const example of listExamples()) {
    describe(`rendered with ${example}`, () => {
      it('is up to date (else: UPDATE=1 packaging/build check-chart)', () => {
        assert.include(read('rendered', example).split('\n')[0], `sha256:${chartChecksum(example)}`)
      })

      it('runs pods that need no rights', () => {
        for (const pod of podsOf(example)) {
          assert.deepInclude(pod.securityContext, { runAsNonRoot: true, runAsUser: 61_100 })
          assert.isFalse(pod.automountServiceAccountToken)
          for (const { securityContext } of pod.containers)
            assert.deepInclude(securityContext, {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            })
        }
      })

      it('gives each role a probe, a limit and time to finish', () => {
        for (const { of, containers, terminationGracePeriodSeconds } of podsOf(example)) {
          assert.isAtLeast(terminationGracePeriodSeconds, 40)
          for (const { livenessProbe, resources } of containers) {
            assert.isString(resources.limits.memory)
            assert.strictEqual(livenessProbe !== undefined, of.kind !== 'Job', of.metadata.name)
          }
        }
      })

      it('names settings that exist, and an image with a version', () => {
        const known = new Set<string>(Object.values(SETTINGS).map(({ env }) => env))
        for (const { containers } of podsOf(example))
          for (const { env = [], image } of containers) {
            assert.deepEqual(
              env.map(({ name }) => name).filter((name) => !known.has(name)),
              [],
            )
            assert.match(image, /:\d+\.\d+\.\d+$|@sha256:[0-9a-f]{64}$/)
          }
      })

      it('migrates before anything changes', () => {
        const job = objectsOf(example).find(({ kind }) => kind === 'Job')
        assert.strictEqual(job?.metadata.annotations?.['helm.sh/hook'], 'pre-install,pre-upgrade')
      })
    })
  }

  it('runs every role once, with budgets and network policies', () => {
    const containers = podsOf('defaults.yaml').flatMap((pod) => pod.containers)
    const run = containers.flatMap(({ args = [] }) => (args[2] ?? args[0] ?? '').split(','))
    assert.sameMembers(run, [...KEY_ROLES, 'migrate'])
    const roles = ['api', 'worker', 'outbound', 'submission', 'inbound'].map((role) => `mailstead-${role}`)
    assert.sameMembers(namesOf('defaults.yaml', 'PodDisruptionBudget'), roles)
    assert.sameMembers(namesOf('defaults.yaml', 'NetworkPolicy'), ['mailstead', ...roles])
    assert.sameMembers(namesOf('defaults.yaml', 'StatefulSet'), ['mailstead-outbound'])
  })

  it('opens the ports of the image', () => {
    const exposed = /^EXPOSE (.*)$/m.exec(read('../../Dockerfile'))?.[1]?.split(' ').map(Number) ?? []
    const opened = podsOf('https.yaml').flatMap(({ containers }) =>
      containers.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort)),
    )
    assert.sameMembers(opened, exposed)
  })

  it('leads 443 and 80 to the ports of https of the api, which everybody may reach', () => {
    const api = podsOf('https.yaml').find(({ of }) => of.metadata.name === 'mailstead-api')?.containers[0]
    const settings = new Map(api?.env?.map(({ name, value }) => [name, value]))
    const ofPod = (name: string): number | undefined => api?.ports?.find((port) => port.name === name)?.containerPort
    const specOf = (kind: string, name: string): KubernetesObject['spec'] | undefined =>
      objectsOf('https.yaml').find((object) => object.kind === kind && object.metadata.name === name)?.spec
    const led = specOf('Service', 'mailstead-web')?.ports?.map(({ port, targetPort }) => [port, ofPod(targetPort)])
    const [https, redirect] = ['HTTPS_PORT', 'HTTP_REDIRECT_PORT'].map((name) => Number(settings.get(name)))
    assert.deepEqual(led, [
      [443, https],
      [80, redirect],
    ])
    const open = specOf('NetworkPolicy', 'mailstead-api')?.ingress?.filter(({ from }) => from === undefined)
    assert.deepEqual(
      open?.flatMap(({ ports }) => ports.map(({ port }) => port)),
      [https, redirect],
    )
    assert.notInclude(namesOf('defaults.yaml', 'Service'), 'mailstead-web')
  })

  it('gives every role the settings of certificates, which the worker requests', () => {
    for (const { containers } of podsOf('https.yaml'))
      for (const { name, env = [] } of containers)
        assert.includeMembers(
          env.map((setting) => setting.name),
          ['HTTPS_PORT', 'ACME_CHALLENGE', 'ACME_EMAIL'],
          name,
        )
  })

  it('sends from the nodes if the values say so', () => {
    assert.sameMembers(namesOf('by-node.yaml', 'DaemonSet'), ['mailstead-outbound'])
    assert.isEmpty(namesOf('by-node.yaml', 'StatefulSet'))
    assert.notInclude(namesOf('by-node.yaml', 'Deployment'), 'mailstead-submission')
  })
})
