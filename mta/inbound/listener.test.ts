import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { cidrs } from '#config/settings/readers.ts'
import { openLog } from '#src/platform/log.ts'
import { returnPathOf } from '#src/mail/verp.ts'
import { certificateFor } from '#test/support/certificate.ts'
import { connectSmtp, type SmtpConnection } from '#test/support/smtp-connection.ts'
import { until } from '#test/support/until.ts'
import { type IncomingMail, type InboundListener, startInboundListener } from './listener.ts'
import type { RouteDirectory } from './route-directory.ts'

type Route = Awaited<ReturnType<RouteDirectory['find']>>

const mac = (data: Buffer): Buffer => createHmac('sha256', 'key').update(data).digest()
const ROUTED = {
  routeId: '01890000-0000-7000-8000-000000000001',
  workspaceId: '01890000-0000-7000-8000-000000000001',
  action: 'webhook',
  recipient: 'sales@customer.example',
} as const

describe('the listener of the inbound port', () => {
  let listener: InboundListener
  let connection: SmtpConnection
  let nowMs = 0
  let issuesReturnPaths = false
  const accepted: IncomingMail[] = []
  const routes = new Map<string, Route>()

  const start = async (env: NodeJS.ProcessEnv = {}, proxyNetworks: ReturnType<typeof cidrs> = []): Promise<void> => {
    const config = loadConfig({
      MODE: 'live',
      MAILSTEAD_HOSTNAME: 'mta.example',
      BOUNCE_DOMAIN: 'bounces.example',
      ...env,
    })
    listener = await startInboundListener({
      ctx: {
        clock: { now: () => nowMs },
        config: { ...config, proxyProtocolNetworks: proxyNetworks },
        log: openLog({ logLevel: 'silent' }, 'test'),
      },
      macs: [mac],
      tokens: { readMailbox: () => null },
      mailFromNames: { isVerified: async () => issuesReturnPaths },
      routes: { find: async (address) => routes.get(address) ?? null },
      certificate: await certificateFor(['mta.example']),
      open: {
        listen: async (server) => {
          const listening = server.listen({ port: 0, host: '127.0.0.1' } as never)
          await once(listening, 'listening')
          return (listening.address() as AddressInfo).port
        },
        close: () => undefined,
      },
      accept: async (mail) => void accepted.push(mail),
    })
  }
  const begin = async (...lines: readonly string[]): Promise<string[]> => {
    const replies: string[] = []
    for (const line of ['EHLO client.example', ...lines]) replies.push((await connection.command(line)).slice(0, 3))
    return replies.slice(1)
  }
  beforeEach(async () => {
    nowMs = 0
    accepted.length = 0
    routes.clear()
    routes.set('sales@customer.example', ROUTED)
    await start()
    connection = await connectSmtp(listener.port)
  })
  afterEach(async () => {
    connection.disconnect()
    await listener.stop()
  })

  it('stores a mail for a route as a whole, and the beginning of one for a report', async () => {
    const content = 'x'.repeat(200_000)
    for (const to of ['sales@customer.example', 'abuse@mta.example']) {
      await begin('RSET', 'MAIL FROM:<a@b.example>', `RCPT TO:<${to}>`, 'DATA')
      connection.send(`${content}\r\n.\r\n`)
      assert.match(await connection.readReply(), /^250 /)
    }
    assert.deepEqual(
      accepted.map(({ raw, size, target: { kind } }) => [kind, raw.length, size]),
      [
        ['routed', 200_002, 200_002],
        ['complaint', 131_072, 200_002],
      ],
    )
  })
  for (const [what, change] of [
    ['is gone', null],
    ['is full', 'full'],
  ] as const)
    it(`does not accept a mail whose recipient ${what} at the end of its data`, async () => {
      const replies = await begin(
        'MAIL FROM:<a@b.example>',
        'RCPT TO:<abuse@mta.example>',
        'RCPT TO:<sales@customer.example>',
        'DATA',
      )
      assert.deepEqual(replies, ['250', '250', '250', '354'])
      routes.set('sales@customer.example', change)
      connection.send('x\r\n.\r\n')
      assert.match(await connection.readReply(), /^45[12] /)
      assert.deepEqual(accepted, [])
    })
  it('does not accept a mail of which its recipient needs more than was stored', async () => {
    // a return-path when RCPT accepts it, and an address of a route when its domain issues no return-paths any more
    const address = returnPathOf({ messageId: ROUTED.routeId, n: 0 }, mac, 'bounce.customer.example')
    issuesReturnPaths = true
    assert.deepEqual(await begin('MAIL FROM:<>', `RCPT TO:<${address}>`, 'DATA'), ['250', '250', '354'])
    issuesReturnPaths = false
    routes.set(address, ROUTED)
    connection.send(`${'x'.repeat(200_000)}\r\n.\r\n`)
    assert.match(await connection.readReply(), /^451 /)
    assert.deepEqual(accepted, [])
  })
  it('accepts mail for a route of an international domain in both forms', async () => {
    routes.set('info@xn--hxajbheg2az3al.example', ROUTED)
    assert.deepEqual(
      await begin(
        'MAIL FROM:<a@b.example> SMTPUTF8',
        'RCPT TO:<info@xn--hxajbheg2az3al.example>',
        'RCPT TO:<info@παράδειγμα.example>',
      ),
      ['250', '250', '250'],
    )
  })
  it('disconnects a client after fifteen minutes', async () => {
    nowMs = 15 * 60_000
    assert.match(await connection.command('NOOP'), /^250 /)
    nowMs++
    assert.strictEqual(await connection.readReply(), '')
  })
  it('limits the connections of one network', async () => {
    await listener.stop()
    await start({ INBOUND_CONNECTIONS: '10' }, cidrs('127.0.0.0/8'))
    const sockets = [1, 2, 3].map(() => connect(listener.port, '127.0.0.1'))
    const greetings: string[] = []
    for (const socket of sockets) {
      socket.write('PROXY TCP4 192.0.2.7 192.0.2.1 51000 25\r\n')
      greetings.push(String(await once(socket, 'data')).slice(0, 9))
    }
    assert.deepEqual(greetings, ['220 mta.e', '220 mta.e', '421 4.7.0'])
    sockets[0]?.destroy()
    await until(async () => {
      const socket = connect(listener.port, '127.0.0.1')
      sockets.push(socket)
      socket.write('PROXY TCP4 192.0.2.7 192.0.2.1 51000 25\r\n')
      return String(await once(socket, 'data')).startsWith('220 ')
    })
    for (const socket of sockets) socket.destroy()
  })
})
