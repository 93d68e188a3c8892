/** compose.yaml and compose.https.yaml: they parse, run every role once, and name only settings that exist. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { parse } from 'yaml'
import { SETTINGS } from '#config/schema.ts'
import { KEY_ROLES } from '#src/crypto/purposes.ts'

interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, unknown>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly stop_grace_period?: string
  readonly hostname?: string
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, null>>
}

const ROOT = join(import.meta.dirname, '..')
const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8')
const compose = parse(read('compose.yaml'), { merge: true }) as Compose
const https = parse(read('compose.https.yaml'), { merge: true }) as Pick<Compose, 'services'>
const services = Object.entries(compose.services)
const own = services.filter(([, { image }]) => image.includes('MAILSTEAD_IMAGE'))
const roles = own.filter(([name]) => !['migrate', 'cli'].includes(name))

describe('compose.yaml', () => {
  it('runs every role once', () => {
    const run = roles.flatMap(([, { command = [] }]) => (command[2] ?? command[0] ?? '').split(','))
    assert.sameMembers(run, [...KEY_ROLES])
  })

  it('runs them after the migration, read-only and without capabilities', () => {
    for (const [name, service] of roles) {
      assert.hasAllKeys(service.depends_on, ['postgres', 'redis', 'migrate'], name)
      assert.deepEqual([service.read_only, service.cap_drop], [true, ['ALL']], name)
      assert.strictEqual(service.stop_grace_period, '35s', name)
    }
  })

  it('names settings that exist', () => {
    const known = new Set<string>(Object.values(SETTINGS).map(({ env }) => env))
    for (const [name, { environment = {} }] of [...own, ...Object.entries(https.services)])
      assert.deepEqual(
        Object.keys(environment).filter((setting) => !known.has(setting)),
        [],
        name,
      )
  })

  it('sets no MODE by itself: that would be an order to make a sandbox of a live installation', () => {
    for (const [name, { environment = {} }] of own) assert.strictEqual(environment['MODE'], '${MODE:-}', name)
  })

  it('declares each volume that it uses, and shares none between roles', () => {
    const used = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')[0] ?? ''))
    assert.hasAllKeys(compose.volumes, [...new Set(used)])
    const ofRoles = roles.flatMap(([, { volumes = [] }]) => volumes)
    assert.strictEqual(new Set(ofRoles).size, roles.length)
  })

  it('gives each role the name of a node, which stays the same', () => {
    for (const [name, { hostname }] of roles) assert.strictEqual(hostname, `mailstead-${name}`)
  })

  it('publishes ports of the image', () => {
    const exposed = /^EXPOSE (.*)$/m.exec(read('Dockerfile'))?.[1]?.split(' ') ?? []
    const published = [...roles, ...Object.entries(https.services)].flatMap(([, { ports = [] }]) => ports)
    const inside = published.map((port) => port.split(':').at(-1) ?? '')
    assert.sameMembers(inside, exposed)
  })

  it('with compose.https.yaml, has https and port 80 in the api, and the same settings in every container', () => {
    assert.sameMembers(
      Object.keys(https.services),
      own.map(([name]) => name),
    )
    const { environment = {}, ports = [] } = https.services['api'] ?? {}
    for (const [name, service] of Object.entries(https.services))
      assert.deepEqual(service.environment, environment, name)
    assert.sameMembers([...ports], [`443:${environment['HTTPS_PORT']}`, `80:${environment['HTTP_REDIRECT_PORT']}`])
    assert.include(environment['ACME_DIRECTORY'], `:-${SETTINGS.acmeDirectory.default}}`)
  })

  it('pins every image by a tag, ours to this version', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string }
    for (const [name, { image }] of services)
      assert.match(image, image.includes('MAILSTEAD') ? new RegExp(`:${version}}$`) : /:\d+\.\d+/, name)
  })
})
