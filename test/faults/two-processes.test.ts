/**
 * Two outbound processes on one queue share the work; whatever happens to one of them, each message is sent by exactly
 * one.
 */
import { assert } from 'chai'
import { checkConsistency } from '#test/support/consistency-checks.ts'
import { killInFlight } from '#test/support/kill.ts'
import { waitUntilDrained, Ledger } from '#test/support/ledger.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { startSystem, printLogsOnFailure, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const MESSAGES = Number(process.env['FAULT_MESSAGES'] ?? 240)
/** Shorter than the pause of a process. */
const LEASE_SECONDS = '4'

describe('two outbound processes', function () {
  this.timeout(120_000 + MESSAGES * 40)
  let mx: Receiver
  let system: System
  let ledger: Ledger

  before(async () => {
    mx = await startReceiver()
    system = await startSystem({ env: { ROUTES: `*=smtp://127.0.0.1:${mx.port}` } })
    await system.roles.mta2.start()
  })
  after(async () => {
    await system.stop()
    await mx.stop()
  })
  beforeEach(() => {
    ledger = new Ledger(system)
    mx.script = {}
  })
  printLogsOnFailure(() => system)
  afterEach(() => ledger.close())

  async function balance(allowed: ReadonlySet<string> = new Set()): Promise<void> {
    const { lost, duplicated, unexpected } = ledger.compare(mx.messages)
    const forbidden = duplicated.filter((address) => !allowed.has(address))
    assert.deepEqual({ lost, unexpected, forbidden }, { lost: [], unexpected: [], forbidden: [] })
    await checkConsistency(system)
  }

  it('share a load without duplicates, also when the schedule in Redis is deleted', async () => {
    const before = mx.messages.length
    const loading = ledger.load({ count: MESSAGES, clients: 16 })
    for (const share of [0.2, 0.4, 0.6]) {
      await until(() => mx.messages.length - before > share * MESSAGES)
      await system.redis.flushall()
    }
    await loading
    await waitUntilDrained(system, 60_000)
    await balance()
    const { rows } = await system.db.query<{ pid: number }>('SELECT pid FROM leases')
    assert.strictEqual(rows.length, 2)
  })

  it('one is killed: the other delivers its messages', async () => {
    const before = mx.messages.length
    mx.script = { on: { dot: { delayMs: 5 } } }
    const loading = ledger.load({ count: MESSAGES, clients: 16 })
    await until(() => mx.messages.length - before > 0.2 * MESSAGES)
    const window = await killInFlight(system, mx, 'mta2')
    await loading
    await waitUntilDrained(system, 60_000)
    await balance(window)
    await system.roles.mta2.start()
  })

  it('one is paused longer than its lease and continues: only the other sends its unsent messages', async () => {
    for (const role of ['worker', 'mta', 'mta2'] as const) {
      await system.roles[role].terminate()
      await system.roles[role].start({ LEASE_SECONDS })
    }
    mx.script = { on: { data: { delayMs: 20 } } }
    const before = mx.messages.length
    // goes on until the pause: a fast machine could send a few hundred before both were seen to send
    const loading = ledger.load({ count: 1_000_000, clients: 16 })
    await until(() => mx.messages.length - before > 0.3 * MESSAGES)
    const { rows: leases } = await system.db.query<{ id: number }>('SELECT id FROM leases')
    const areBothSending = async (): Promise<boolean> =>
      (
        await system.db.query(`SELECT DISTINCT lease FROM recipients WHERE state = 'sending' AND lease = ANY ($1)`, [
          leases.map(({ id }) => id),
        ])
      ).rows.length === 2
    await until(areBothSending, () => 'one of them sends nothing')
    system.roles.mta2.pause()
    ledger.close()
    const isTakenAway = async (): Promise<boolean> =>
      (await system.db.query('SELECT 1 FROM leases WHERE id = ANY ($1)', [leases.map(({ id }) => id)])).rows.length <
      leases.length
    await until(isTakenAway, () => 'the lease was not taken away')
    await loading
    await until(
      () => ledger.copies(mx.messages).size >= ledger.count('accepted'),
      () => 'the other did not send them all',
    )
    const openThen = mx.open
    const takenThen = mx.messages.length
    system.roles.mta2.resume()
    await until(() => mx.open < openThen)
    await waitUntilDrained(system, 60_000)
    const { lost, duplicated } = ledger.compare(mx.messages)
    assert.deepEqual(lost, [])
    // what the receiver took from the paused process before anyone knew: the window of a death, and no more
    assert.ok(duplicated.length <= openThen, `${duplicated.length} duplicated, ${openThen} conversations were open`)
    assert.strictEqual(mx.messages.length, takenThen, 'it handed over nothing that was not its own any more')
  })
})
