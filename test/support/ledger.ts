/**
 * Records the response to each message that a test sends: accepted (2xx, with its id), refused (another status), or
 * nothing (no response). `compare` checks the records against a receiver's messages: an accepted message that never
 * arrived is lost, one that arrived twice is duplicated. Each message has one recipient with a unique address, which
 * identifies the copies.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseAway } from '#src/stores/db.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'
import type { TestCall } from './api.ts'
import type { ReceivedMessage } from './receiver-connection.ts'
import type { System } from './system.ts'

export interface LedgerEntry {
  readonly address: string
  readonly response: 'accepted' | 'refused' | 'nothing'
  /** 0 when there was no answer. */
  readonly status: number
  readonly id: string
  readonly retryAfter: string | null
}

export interface LedgerComparison {
  /** Accepted and never received. */
  readonly lost: readonly string[]
  /** Received more than once. */
  readonly duplicated: readonly string[]
  /** Received although the response was 4xx. */
  readonly unexpected: readonly string[]
}

export interface LoadOptions {
  /** Messages that are accepted in the end, unless the ledger is closed before. */
  readonly count: number
  /** Requests under way at once. */
  readonly clients?: number
  readonly tiers?: readonly Tier[]
  readonly text?: string
  readonly domain?: string
  /** Repeats a request under its Idempotency-Key until it is accepted. */
  readonly retriesUntilAccepted?: boolean
}

const PATHS: Readonly<Record<Tier, string>> = { instant: 'instant', high: 'high', normal: 'async', bulk: 'bulk' }
const PAUSE_MS = 20
let ledgers = 0

export class Ledger {
  readonly entries: LedgerEntry[] = []
  readonly #system: System
  readonly #prefix = `l${++ledgers}`
  #sent = 0
  #isClosed = false

  constructor(system: System) {
    this.#system = system
  }

  count(response: LedgerEntry['response']): number {
    return this.entries.filter((entry) => entry.response === response).length
  }

  /** Sends one message and records the response. */
  async send(
    tier: Tier,
    {
      text = 'Hello',
      domain = 'receiver.example',
      retriesUntilAccepted: isInsistent = false,
    }: Omit<LoadOptions, 'count'> = {},
  ): Promise<LedgerEntry> {
    const address = `${this.#prefix}-${++this.#sent}@${domain}`
    const body = { from: `shop@${this.#system.domain}`, to: address, subject: `To ${address}`, text }
    const headers = isInsistent ? { 'idempotency-key': address } : {}
    let entry = await this.#ask(tier, address, { body, headers })
    while (isInsistent && entry.response !== 'accepted' && !this.#isClosed) {
      await sleep(PAUSE_MS)
      entry = await this.#ask(tier, address, { body, headers })
    }
    this.entries.push(entry)
    return entry
  }

  async #ask(tier: Tier, address: string, call: TestCall): Promise<LedgerEntry> {
    try {
      const { status, headers, body: answer } = await this.#system.call('POST', `/send-email/${PATHS[tier]}`, call)
      const response = status >= 200 && status < 300 ? 'accepted' : 'refused'
      return {
        address,
        status,
        response,
        id: JSON.stringify(answer['email_id']),
        retryAfter: headers.get('retry-after'),
      }
    } catch {
      return { address, status: 0, response: 'nothing', id: '', retryAfter: null }
    }
  }

  /** Sends until `count` messages were accepted, with several clients, on each tier in turn. Waits after a failure. */
  async load({
    count,
    clients = 8,
    tiers = ['instant', 'high', 'normal', 'bulk'],
    ...message
  }: LoadOptions): Promise<void> {
    let left = count
    await Promise.all(
      Array.from({ length: Math.min(clients, count) }, async () => {
        while (left-- > 0 && !this.#isClosed) {
          const { response } = await this.send(tiers[left % tiers.length] ?? 'normal', message)
          if (response === 'accepted') continue
          left++
          await sleep(PAUSE_MS)
        }
      }),
    )
  }

  /** Ends running loads. */
  close(): void {
    this.#isClosed = true
  }

  /** Copies by address, of this ledger's messages only. */
  copies(received: readonly ReceivedMessage[]): Map<string, number> {
    const mine = new Set(this.entries.map(({ address }) => address))
    const copies = new Map<string, number>()
    for (const { to } of received)
      for (const address of to) if (mine.has(address)) copies.set(address, (copies.get(address) ?? 0) + 1)
    return copies
  }

  compare(received: readonly ReceivedMessage[]): LedgerComparison {
    const copies = this.copies(received)
    const isRefusedForGood = ({ response, status }: LedgerEntry): boolean => response === 'refused' && status < 500
    return {
      lost: this.entries
        .filter(({ response, address }) => response === 'accepted' && !copies.has(address))
        .map(({ address }) => address),
      duplicated: [...copies].filter(([, count]) => count > 1).map(([address]) => address),
      unexpected: this.entries
        .filter((entry) => isRefusedForGood(entry) && copies.has(entry.address))
        .map(({ address }) => address),
    }
  }
}

/** Waits until no recipient is open. After `timeoutMs` it rejects with the open recipients by state and tier. */
export async function waitUntilDrained({ db }: Pick<System, 'db'>, timeoutMs = 40_000): Promise<void> {
  for (const end = Date.now() + timeoutMs; ; await sleep(50)) {
    const open = await countOpenRecipients(db)
    if (open?.length === 0) return
    if (Date.now() > end)
      throw new Error(`the queue did not drain: ${JSON.stringify(open ?? 'PostgreSQL is away', null, 1)}`)
  }
}

/** Null while PostgreSQL is away. */
async function countOpenRecipients(db: System['db']): Promise<object[] | null> {
  try {
    const { rows } = await db.query(sql`
      SELECT r.state, r.tier, l.id IS NOT NULL AS is_leased, min(r.reason) AS reason, count(*) AS count
      FROM recipients r
      LEFT JOIN leases l ON l.id = r.lease
      WHERE r.is_open
      GROUP BY r.state, r.tier, l.id
      ORDER BY 1, 2
    `)
    return rows
  } catch (error) {
    if (isDatabaseAway(error)) return null
    throw error
  }
}
