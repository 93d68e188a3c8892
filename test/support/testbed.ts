/**
 * A complete Mailstead with its own DNS server and any number of receivers, for scenarios. Each receiver has its own
 * IP address, so that scenarios do not see each other's mail. Requests go through the HTTP API, as a customer's do.
 */
import { assert } from 'chai'
import type { Tier } from '#src/queue/tiers.ts'
import type { Json } from './api.ts'
import { startDns, type TestDns } from './dns.ts'
import type { ReceiverScript } from './receiver-script.ts'
import { startReceiver, type Receiver } from './receiver.ts'
import { startSystem, type System, type SystemOptions } from './system.ts'
import { until } from './until.ts'

export interface MessageFields {
  readonly to: string | readonly string[]
  readonly tier?: Tier
  readonly headers?: Readonly<Record<string, string>>
  /** Further fields of the request's body. */
  readonly [field: string]: unknown
}

/** A message as `get-email` returns it. */
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
  /** Starts a receiver for these domains. The first MX of a domain has preference 10, the next one 20, and so on. */
  addReceiver(domains: string | readonly string[], script?: ReceiverScript): Promise<Receiver>
  /** Adds an MX host to the domain, at an address without a server. */
  addUnreachableMx(domain: string): void
  /** Sends; the message's id. */
  send(fields: MessageFields): Promise<string>
  getMessage(id: string): Promise<MessageDetails>
  /** Waits until the message is settled, or has this status. */
  settle(id: string, status?: string): Promise<MessageDetails>
  stop(): Promise<void>
}

const PATHS: Readonly<Record<Tier, string>> = { instant: 'instant', high: 'high', normal: 'async', bulk: 'bulk' }
const OPEN_STATES = ['scheduled', 'queued', 'sending', 'deferred', 'unknown']

export async function startTestbed(
  env: Readonly<Record<string, string>> = {},
  options: Pick<SystemOptions, 'openPooler'> = {},
): Promise<Testbed> {
  const dns = await startDns({})
  // reserves the port: all other receivers use the same port on other addresses
  const first = await startReceiver({}, { host: '127.0.0.1' })
  const receivers: Receiver[] = [first]
  const stopServers = (): Promise<unknown> => Promise.all([dns.stop(), ...receivers.map((receiver) => receiver.stop())])
  const settings = { DNS_SERVERS: dns.server, SMTP_OUT_PORT: String(first.port), ...env }
  const system = await startSystem({ ...options, env: settings }).catch(async (error: unknown) => {
    await stopServers()
    throw error
  })
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
      await stopServers()
    },
  }
}

function idOf({ status, body }: { readonly status: number; readonly body: Json }): string {
  assert.strictEqual(status, 200, JSON.stringify(body))
  return body['email_id'] as unknown as string
}
