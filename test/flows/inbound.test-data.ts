/** An inbound port with a sender's delivered mail, to which tests submit reports. */
import { assert } from 'chai'
import { startInbound, type Inbound } from '#mta/inbound/inbound.ts'
import { readMessage } from '#src/messages/read.ts'
import { findSuppressions } from '#src/suppression/list.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { deliverMessages, type DeliveredMessage } from '#test/support/delivered-messages.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { submitMessage } from '#test/support/smtp-connection.ts'
import { until } from '#test/support/until.ts'

interface MessageOutcome {
  readonly state: string
  /** After those of the delivery. */
  readonly events: readonly {
    readonly type: string
    readonly data: Record<string, unknown> | null
    readonly sequence: number
  }[]
}

interface StoredSuppression {
  readonly kind: string
  readonly rule: string | null
  readonly text: string | undefined
}

export interface InboundScene {
  readonly ctx: TestContext
  readonly inbound: Inbound
  readonly workspaceId: string
  /** Stores a message as delivered; with `null` as still in delivery. */
  readonly sent: (address?: string, outcome?: null) => Promise<DeliveredMessage>
  /** Submits a report to the port; the reply to the dot. */
  readonly bring: (to: string, content: string | Buffer) => Promise<string>
  /** Waits until every stored report is applied. */
  readonly applied: () => Promise<void>
  /** What became of the reports about a message. */
  readonly results: (messageId: string) => Promise<string[]>
  readonly findOutcome: (messageId: string) => Promise<MessageOutcome>
  readonly suppressionOf: (address: string) => Promise<StoredSuppression | null>
}

/** Adds hooks to the suite that start and stop the port. */
export function setUpInbound(): InboundScene {
  let dns: TestDns
  let ctx: TestContext
  let inbound: Inbound
  let workspaceId: string
  let count = 0
  before(async () => {
    dns = await startDns({ 'receiver.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] } })
    ctx = await createContext({
      MODE: 'live',
      DNS_SERVERS: dns.server,
      MAILSTEAD_HOSTNAME: 'mta.sender.example',
      INBOUND_PORT: '0',
      LOG_LEVEL: 'error',
    })
    inbound = await startInbound(ctx)
    workspaceId = await ctx.newWorkspace()
  })
  after(async () => {
    await inbound.stop()
    await Promise.all([ctx.close(), dns.stop()])
  })

  return {
    get ctx() {
      return ctx
    },
    get inbound() {
      return inbound
    },
    get workspaceId() {
      return workspaceId
    },
    sent: async (address = `r${++count}@receiver.example`, outcome) => {
      const [one] = await deliverMessages(ctx, workspaceId, [address], outcome)
      assert.ok(one !== undefined)
      return one
    },
    bring: async (to, content) => (await submitMessage(inbound.port, { from: '', to, content })).at(-1) ?? '',
    applied: () =>
      until(
        async () => {
          const { rows } = await ctx.db.query('SELECT 1 FROM inbound_reports WHERE due_at IS NOT NULL')
          return rows.length === 0
        },
        () => 'reports were not applied',
      ),
    results: async (messageId) => {
      const { rows } = await ctx.db.query<{ kind: string; result: string }>(
        'SELECT kind, result FROM inbound_reports WHERE message_id = $1 ORDER BY id',
        [messageId],
      )
      return rows.map(({ kind, result }) => `${kind}: ${result}`)
    },
    findOutcome: async (messageId) => {
      const message = await readMessage(ctx.db, workspaceId, messageId)
      return { state: message?.recipients[0]?.state ?? '', events: message?.events.slice(3) ?? [] }
    },
    suppressionOf: async (address) => {
      const [found] = await findSuppressions(ctx.db, workspaceId, [address])
      return found === undefined ? null : { kind: found.kind, rule: found.rule, text: found.reply?.text }
    },
  }
}
