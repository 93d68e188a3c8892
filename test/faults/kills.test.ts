/**
 * Each process is killed with -9 under load, once and several times in a row, and the schedule in Redis is deleted. No
 * message is sent twice whose 250 the outbound process had read. The statistics are those of a recount of the events.
 * The ledger compares the responses to clients with the receiver's messages. FAULT_MESSAGES enlarges the loads.
 */
import { assert } from 'chai'
import { checkConsistency } from '#test/support/consistency-checks.ts'
import { addressesWithUnreadReply, killInFlight } from '#test/support/kill.ts'
import { waitUntilDrained, Ledger, type LoadOptions } from '#test/support/ledger.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { startSystem, printLogsOnFailure, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'
import { waitForStatistics } from '#src/statistics/mail.test-data.ts'

const MESSAGES = Number(process.env['FAULT_MESSAGES'] ?? 240)
const PATIENCE_MS = 30_000 + MESSAGES * 20

interface StartedWork {
  untilShare(share: number): Promise<void>
  end(): Promise<void>
}

describe('kills under load', function () {
  this.timeout(PATIENCE_MS * 2)
  let mx: Receiver
  let system: System
  let ledger: Ledger

  before(async () => {
    mx = await startReceiver()
    system = await startSystem({ isCrashable: true, env: { ROUTES: `*=smtp://127.0.0.1:${mx.port}` } })
  })
  after(async () => {
    await system.stop()
    await mx.stop()
  })
  beforeEach(() => {
    ledger = new Ledger(system)
  })
  printLogsOnFailure(() => system)
  afterEach(() => ledger.close())

  /** Begins a load and comes back when the receiver has taken a share of it; `end` waits for the load and the queue. */
  async function begin(share: number, load: Partial<LoadOptions> = {}): Promise<StartedWork> {
    const before = mx.messages.length
    const loading = ledger.load({ count: MESSAGES, ...load })
    const untilShare = (part: number): Promise<void> =>
      until(() => mx.messages.length - before >= MESSAGES * part, undefined, PATIENCE_MS)
    await untilShare(share)
    return {
      untilShare,
      end: async () => {
        await loading
        await system.startMissing()
        await waitUntilDrained(system, PATIENCE_MS)
      },
    }
  }

  /** Nothing lost, nothing that was refused sent, and only what may come twice did. */
  async function balance(allowed: ReadonlySet<string> = new Set()): Promise<void> {
    const { lost, duplicated, unexpected } = ledger.compare(mx.messages)
    const forbidden = duplicated.filter((address) => !allowed.has(address))
    assert.deepEqual({ lost, unexpected, forbidden }, { lost: [], unexpected: [], forbidden: [] })
    assert.ok(ledger.count('accepted') > 0, 'something was accepted')
    await checkConsistency(system)
    await waitForStatistics(system.db)
  }

  it('outbound: no message is lost; only those whose 250 was not read arrive twice', async () => {
    const load = await begin(0.3)
    const window = await killInFlight(system, mx)
    await load.end()
    await balance(window)
  })

  it('outbound, five times in a row', async () => {
    const load = await begin(0.1)
    const windows = new Set<string>()
    for (const share of [0.1, 0.25, 0.4, 0.55, 0.7]) {
      await load.untilShare(share)
      for (const address of await killInFlight(system, mx)) windows.add(address)
      await system.roles.mta.start()
    }
    await load.end()
    await balance(windows)
  })

  it('outbound, while PostgreSQL stores no result: the next process records what its journal has', async () => {
    const before = mx.messages.length
    let window = new Set<string>()
    const waitForAll = (): Promise<void> => until(() => mx.messages.length - before >= MESSAGES, undefined, PATIENCE_MS)
    await system.db.transaction(async (tx) => {
      await tx.query('LOCK TABLE attempts IN SHARE ROW EXCLUSIVE MODE')
      await ledger.load({ count: MESSAGES })
      await waitForAll()
      window = addressesWithUnreadReply(mx.messages.slice(before))
      await system.roles.mta.kill()
    })
    await system.startMissing()
    await waitUntilDrained(system, PATIENCE_MS)
    await balance(window)
    const { rows } = await system.db.query<{ address: string }>(
      `SELECT address FROM recipients WHERE state = 'delivered' AND attempts > 1 AND address = ANY ($1)`,
      [ledger.entries.map(({ address }) => address)],
    )
    const repeated = rows.map(({ address }) => address).filter((address) => !window.has(address))
    assert.deepEqual(repeated, [], 'each message whose reply was read had one attempt')
    assert.ok(window.size < MESSAGES / 2, `of ${MESSAGES} messages ${window.size} replies may be unread`)
  })

  it('api: a message with a 2xx response is sent once, one without a response at most once', async () => {
    const load = await begin(0)
    // counted where requests are accepted: the receiver may be so far behind that all were sent
    await until(() => ledger.count('accepted') >= MESSAGES * 0.3)
    await system.roles.api.kill()
    await system.roles.api.start()
    await load.end()
    assert.ok(ledger.count('nothing') > 0, 'some clients got no answer')
    await balance()
  })

  it('api and PostgreSQL, with clients that repeat requests under an Idempotency-Key: each is sent once', async () => {
    const load = await begin(0.2, { retriesUntilAccepted: true, clients: 24 })
    await system.roles.api.kill()
    await system.roles.api.start()
    await load.untilShare(0.4)
    await system.postgres.crash()
    await system.postgres.restart()
    await load.untilShare(0.6)
    await system.roles.api.kill()
    await system.roles.api.start()
    await load.end()
    assert.strictEqual(ledger.count('accepted'), MESSAGES)
    assert.strictEqual(ledger.copies(mx.messages).size, MESSAGES)
    const { rows } = await system.db.query(`SELECT address FROM recipients GROUP BY address HAVING count(*) > 1`)
    assert.deepEqual(rows, [], 'no request was stored twice')
    await balance()
  })

  it('worker: no message is lost or duplicated', async () => {
    const load = await begin(0.2)
    await system.roles.worker.kill()
    await load.untilShare(0.5)
    await load.end()
    await balance()
  })

  it('Redis: no message is lost or duplicated', async () => {
    const load = await begin(0.2)
    await system.redisServer.crash()
    await system.redisServer.restart()
    await load.end()
    assert.strictEqual(ledger.count('accepted'), MESSAGES, 'every message was accepted')
    await balance()
  })

  it('PostgreSQL: accepted messages survive, and unwritten results are written later', async () => {
    const load = await begin(0.2)
    await system.postgres.crash()
    await system.postgres.restart()
    await load.end()
    await balance()
  })

  it('FLUSHALL under load: no message is lost or duplicated', async () => {
    const load = await begin(0.1)
    for (const share of [0.1, 0.4, 0.7]) {
      await load.untilShare(share)
      await system.redis.flushall()
    }
    await load.end()
    await balance()
  })

  for (const isTaken of [true, false]) {
    const what = isTaken ? 'the receiver having taken the message' : 'the receiver having nothing'
    it(`connections lost after the final dot, ${what}: bulk is sent once, other tiers until a reply`, async () => {
      const dropped = new Set<string>()
      let dots = 0
      mx.script = {
        on: {
          dot: ({ to: [address = ''] }) => {
            if (dropped.has(address) || dots++ % 5 > 0) return undefined
            dropped.add(address)
            return { accepts: isTaken, end: 'reset' }
          },
        },
      }
      await ledger.load({ count: 200 })
      await waitUntilDrained(system, PATIENCE_MS)
      mx.script = {}
      const { rows } = await system.db.query<{ address: string }>(`SELECT address FROM recipients WHERE tier = 'bulk'`)
      const bulk = new Set(rows.map(({ address }) => address))
      const { lost, duplicated } = ledger.compare(mx.messages)
      assert.ok(dropped.size > 20)
      assert.deepEqual(
        duplicated.toSorted(),
        isTaken ? [...dropped].filter((address) => !bulk.has(address)).toSorted() : [],
      )
      assert.deepEqual(lost.toSorted(), isTaken ? [] : [...dropped].filter((address) => bulk.has(address)).toSorted())
    })
  }

  it('all processes, one after the other, under one load', async () => {
    const load = await begin(0.1)
    const window = await killInFlight(system, mx)
    await system.roles.mta.start()
    await load.untilShare(0.2)
    await system.roles.worker.kill()
    await system.redisServer.crash()
    await system.redisServer.restart()
    await system.roles.worker.start()
    await load.untilShare(0.35)
    await system.roles.api.kill()
    await system.postgres.crash()
    await system.postgres.restart()
    await system.startMissing()
    await load.end()
    await balance(window)
  })
})
