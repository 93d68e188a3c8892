/** The steps of a delivery as the outbound role builds them, without stores: every query is answered from memory. */
import { assert } from 'chai'
import { pino } from 'pino'
import type { Egress } from '#mta/egress/source-choice.ts'
import type { Context } from '#src/context.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { parseReturnPath } from '#src/mail/verp.ts'
import { claimedOf, silentContext } from '#test/support/delivery.ts'
import { openPipeline, type OpenPipeline } from './delivery-pipeline.ts'

const encryption = createEncryption(Buffer.alloc(32, 1))
const ENV = {
  BOUNCE_DOMAIN: 'bounces.sender.example',
  ROUTES: 'a.example=smtp://192.0.2.25:2525',
}

interface Case extends OpenPipeline {
  /** The parameters of each query. */
  readonly queries: (readonly unknown[])[]
  /** What the pipeline stopped. */
  readonly stopped: string[]
}

describe('delivery pipeline', () => {
  let opened: Case | null = null
  afterEach(async () => {
    await opened?.close()
    opened = null
  })

  function open(env: Record<string, string> = {}, log: Partial<Pick<Context, 'log'>> = {}): Case {
    const [queries, stopped]: [unknown[][], string[]] = [[], []]
    const db = {
      query: (_: unknown, params: unknown[] = []) => {
        queries.push(params)
        return Promise.resolve({ rows: [], rowCount: 0 })
      },
    }
    const ctx = { ...silentContext({ ...ENV, ...env }), ...log, db, redis: {}, encryption } as unknown as Context
    const egress = {
      onAddressLost: () => undefined,
      stop: () => Promise.resolve(void stopped.push('egress')),
    } as unknown as Egress
    opened = { ...openPipeline(ctx, egress), queries, stopped }
    queries.length = 0
    return opened
  }

  it('routes a domain of the transport map to its host, without DNS', async () => {
    const route = await open().pipeline.route('a.example')
    assert.deepEqual(route, {
      kind: 'hosts',
      site: 'route:192.0.2.25:2525',
      hosts: [{ name: '192.0.2.25', preference: 0, port: 2525, isMapped: true }],
    })
  })
  it('logs once that mail has no links, if they lead nowhere', () => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    open({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mail.sender.example' }, { log })
    const found = lines.filter((line) => line.includes('List-Unsubscribe'))
    assert.strictEqual(found.length, 1)
    assert.match(found[0] ?? '', /PUBLIC_URL is http:/)
  })
  it('knows the address families of the first host that has an address', async () => {
    const { pipeline } = open()
    const host = { preference: 0, port: 25, isMapped: true }
    const families = await pipeline.families([
      { ...host, name: '2001:db8::1' },
      { ...host, name: '192.0.2.1' },
    ])
    assert.deepEqual([...families], [6])
    assert.strictEqual((await pipeline.families([])).size, 0)
  })
  it('reports why a site is unreachable from a source, while its circuit breaker is open', () => {
    const { pipeline, breaker } = open()
    assert.strictEqual(pipeline.unreachableReason('mx.a.example'), null)
    for (let i = 0; i < 10; i++) breaker.failed('mx.a.example', 'connection refused')
    assert.match(pipeline.unreachableReason('mx.a.example') ?? '', /connection refused/)
    assert.strictEqual(pipeline.unreachableReason('mx.b.example'), null)
  })
  it('applies no TLS policy where an operator maps the route', async () => {
    const { pipeline } = open()
    const host = { name: '192.0.2.25', preference: 0, port: 2525, isMapped: true }
    assert.strictEqual((await pipeline.tlsPolicy('a.example', [host])).isPending, false)
  })
  it('checks the suppression of many recipients in one statement', async () => {
    const { pipeline, queries } = open()
    const found = await Promise.all([claimedOf(), claimedOf(), claimedOf()].map((one) => pipeline.suppression(one)))
    assert.deepEqual(found, [null, null, null])
    assert.strictEqual(queries.length, 1)
  })
  it('sends mail without a sending domain unsigned, from the default pool', async () => {
    const { pipeline, queries } = open()
    const domain = await pipeline.sendingDomain(null)
    assert.ok(domain.kind === 'ready')
    assert.deepEqual([domain.keys, domain.mailFrom, queries.length], [[], null, 0])
  })
  it('treats a sending domain that PostgreSQL does not have as removed', async () => {
    assert.strictEqual((await open().pipeline.sendingDomain('d1')).kind, 'gone')
  })

  it("gives each recipient its own return-path at the operator's bounce domain", () => {
    const { pipeline } = open()
    const [one, other] = [claimedOf(), claimedOf()]
    const address = pipeline.returnPath(one, null)
    assert.match(address, /@bounces\.sender\.example$/)
    const mac = (data: Buffer): Buffer => encryption.mac('return-path', data)
    assert.deepEqual(parseReturnPath(address, [mac]), { messageId: one.messageId, n: 0 })
    assert.notStrictEqual(pipeline.returnPath(other, null), address)
  })
  it("uses the sending domain's own bounce domain where it has one", () => {
    assert.match(open().pipeline.returnPath(claimedOf(), 'rp.shop.example'), /@rp\.shop\.example$/)
  })
  it('sends a report with the null return-path, so that no bounce answers it', () => {
    const report = claimedOf({ submitted: { isReport: true } as ReturnType<typeof claimedOf>['submitted'] })
    assert.strictEqual(open().pipeline.returnPath(report, null), '')
  })

  it('greets with the server name and uses TLS when offered, whatever the certificate', () => {
    const { settings } = open().opening
    assert.deepEqual(
      [settings.ehloName, settings.tls, settings.rejectUnauthorized],
      ['mailstead.localhost', 'opportunistic', false],
    )
  })
  it('resolves a mapped host that is an address to that address', async () => {
    const { opening } = open()
    const host = { name: '192.0.2.25', preference: 0, port: 2525, isMapped: true }
    assert.deepEqual(await opening.findAddresses(host), {
      kind: 'addresses',
      addresses: [{ address: '192.0.2.25', family: 4 }],
    })
  })
  it('expires messages after MESSAGE_LIFETIME_SECONDS, or by tier', () => {
    assert.strictEqual(open().pipeline.lifetimeSeconds, null)
    assert.strictEqual(open({ MESSAGE_LIFETIME_SECONDS: '3600' }).pipeline.lifetimeSeconds, 3600)
  })
  it('refuses to start when EXTRA_CA_FILE cannot be read', () => {
    assert.throws(() => open({ EXTRA_CA_FILE: '/nonexistent/ca.pem' }), /EXTRA_CA_FILE/)
  })
  it('stops its parts when it closes', async () => {
    const pipeline = open()
    await pipeline.close()
    opened = null
    assert.deepEqual(pipeline.stopped, ['egress'])
  })
})
