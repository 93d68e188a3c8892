/**
 * A whole Mailstead and the world it sends into, for scenarios: a DNS of our own and as many receivers as a scenario asks for, each on an
 * address of its own, so that scenarios do not see each other's mail. Everything asked of it goes through the HTTP API, as a customer
 * would.
 */
import { assert } from 'chai'
import type { Tier } from '#src/queue/tiers.ts'
import type { Json } from './api.ts'
import { startDns, type TestDns } from './dns.ts'
import type { ReceiverScript } from './receiver-script.ts'
import { startReceiver, type Receiver } from './receiver.ts'
import { startSystem, type System } from './system.ts'
import { until } from './until.ts'

export interface MessageFields {
  readonly to: string | readonly string[]
  readonly tier?: Tier
  readonly headers?: Readonly<Record<string, string>>
  /** Further fields of the request's body. */
  readonly [field: string]: unknown
}

/** A message as `get-email` tells it. */
export interface MessageDetails {
  readonly status: string
  readonly recipients: readonly RecipientDetails[]
  readonly events: readonly EventDetails[]
}

interface RecipientDetails {
  readonly address: string
  readonly state: string
  readonly reason: string | null
  readonly tries: number
  readonly attempts: readonly AttemptDetails[]
}

interface EventDetails {
  readonly id: string
  readonly type: string
  readonly sequence: number
  readonly recipient: string
  readonly data: Readonly<Record<string, unknown>> | null
}

interface AttemptDetails {
  readonly outcome: string
  readonly reason: string | null
  readonly host: string | null
  readonly tls: string | null
  readonly conversation: string
  readonly reply: { readonly code: number; readonly text: string } | null
}

export interface Testbed {
  readonly system: System
  readonly dns: TestDns
  /** A receiver for these domains. As further MX of a domain that has one, it has the preference of its turn: 10, 20, … */
  addReceiver(domains: string | readonly string[], script?: ReceiverScript): Promise<Receiver>
  /** An MX host for the domain at an address where nobody listens. */
  addUnreachableMx(domain: string): void
  /** Sends; the message's id. */
  send(letter: MessageFields): Promise<string>
  getMessage(id: string): Promise<MessageDetails>
  /** Waits until the message is settled, or has this status. */
  settle(id: string, status?: string): Promise<MessageDetails>
  stop(): Promise<void>
}

const PATHS: Readonly<Record<Tier, string>> = { instant: 'instant', high: 'high', normal: 'async', bulk: 'bulk' }
const OPEN_STATES = ['scheduled', 'queued', 'sending', 'deferred', 'unknown']

export async function startTestbed(env: Readonly<Record<string, string>> = {}): Promise<Testbed> {
  const dns = await startDns({})
  // holds the port: all other receivers are at the same one, on other addresses
  const first = await startReceiver({}, { host: '127.0.0.1' })
  const system = await startSystem({ env: { DNS_SERVERS: dns.server, SMTP_OUT_PORT: String(first.port), ...env } })
  const receivers: Receiver[] = [first]
  let addresses = 1

  function publishMx(domain: string): string {
    const address = `127.0.1.${++addresses}`
    const known = dns.zone[domain]?.MX ?? []
    const host = `mx${known.length + 1}.${domain}`
    dns.zone[domain] = { MX: [...known, [10 * (known.length + 1), host]] }
    dns.zone[host] = { A: [address] }
    return address
  }

  async function addReceiver(domains: string | readonly string[], script: ReceiverScript = {}): Promise<Receiver> {
    const [domain = '', ...others] = typeof domains === 'string' ? [domains] : domains
    const receiver = await startReceiver(script, { host: publishMx(domain), port: first.port })
    for (const other of others) dns.zone[other] = dns.zone[domain] ?? {}
    receivers.push(receiver)
    return receiver
  }

  async function getMessage(id: string): Promise<MessageDetails> {
    const { status, body } = await system.call('GET', `/public/emails/get-email?id=${id}`)
    assert.strictEqual(status, 200)
    return body['data'] as unknown as MessageDetails
  }

  return {
    system,
    dns,
    addReceiver,
    getMessage,
    addUnreachableMx: (domain) => void publishMx(domain),
    send: async ({ tier = 'instant', headers, ...fields }) =>
      idOf(
        await system.call('POST', `/send-email/${PATHS[tier]}`, {
          body: { from: `shop@${system.domain}`, subject: 'Hello', text: 'Hello', ...fields },
          ...(headers === undefined ? {} : { headers }),
        }),
      ),
    settle: async (id, status) => {
      let message = await getMessage(id)
      const isSettled = async (): Promise<boolean> => {
        message = await getMessage(id)
        return status === undefined
          ? message.recipients.every(({ state }) => !OPEN_STATES.includes(state))
          : message.status === status
      }
      await until(isSettled, () => `it is ${JSON.stringify(message, null, 1)}`)
      return message
    },
    stop: async () => {
      await system.stop()
      await Promise.all([dns.stop(), ...receivers.map((receiver) => receiver.stop())])
    },
  }
}

function idOf({ status, body }: { readonly status: number; readonly body: Json }): string {
  assert.strictEqual(status, 200, JSON.stringify(body))
  return body['email_id'] as unknown as string
}
