/**
 * A store goes silent: its connections stay open, and nothing comes back, as when its host disappears or is frozen.
 * Mail continues as soon as new connections work, and processes stop in time even while they do not.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import type { ReceiverAction } from '#test/support/receiver-script.ts'
import { Ledger, waitUntilDrained } from '#test/support/ledger.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { printLogsOnFailure, startSystem, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const BALANCED = { lost: [], duplicated: [], unexpected: [] }

describe('silent stores', () => {
  let mx: Receiver
  let system: System
  let ledger: Ledger

  before(async () => {
    mx = await startReceiver()
    system = await startSystem({ isSilenceable: true, env: { ROUTES: `*=smtp://127.0.0.1:${mx.port}` } })
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

  it('the connections to Redis go silent: mail continues without a restart', async () => {
    await ledger.load({ count: 5 })
    await waitUntilDrained(system)
    system.proxies.redis.silence()
    await ledger.load({ count: 20 })
    assert.strictEqual(ledger.entries.length, 25, 'each was accepted at the first try')
    await waitUntilDrained(system)
    assert.deepEqual(ledger.compare(mx.messages), BALANCED)
  })

  it('PostgreSQL is frozen and another one is promoted: mail continues without a restart', async () => {
    await ledger.load({ count: 5 })
    system.proxies.postgres.silence()
    await until(async () => (await ledger.send('instant')).status === 200)
    await ledger.load({ count: 20 })
    await waitUntilDrained(system)
    assert.deepEqual(ledger.compare(mx.messages), BALANCED)
  })

  it('a stop ends the deliveries and stores their results while Redis hangs', async () => {
    const dotted = Promise.withResolvers<void>()
    const replyLate = (): ReceiverAction => {
      dotted.resolve()
      return { delayMs: 2000 }
    }
    mx.script = { on: { dot: replyLate } }
    const sent = await ledger.send('instant')
    await dotted.promise
    system.proxies.redis.silence('new')
    assert.strictEqual(await system.roles.mta.terminate(), 0)
    const { rows } = await system.db.query('SELECT state FROM recipients WHERE address = $1', [sent.address])
    assert.deepEqual(rows, [{ state: 'delivered' }])
    mx.script = {}
    system.proxies.redis.resume()
    await system.startMissing()
  })

  it('a stop ends in time while PostgreSQL and Redis hang, also of a process that is starting', async () => {
    const { api, mta, mta2, worker } = system.roles
    const pidFile = join(system.config.dataDir, 'run/mta.pid')
    const before = readFileSync(pidFile, 'utf8')
    system.proxies.postgres.silence('new')
    system.proxies.redis.silence('new')
    const starting = mta2.start().then(
      () => 'started',
      () => 'stopped',
    )
    // from then on it handles signals
    await until(() => readFileSync(pidFile, 'utf8') !== before)
    const roles = [api, mta, mta2, worker]
    const codes = await Promise.all(roles.map((role) => role.terminate()))
    assert.deepEqual(codes, [0, 0, 0, 0])
    assert.strictEqual(await starting, 'stopped')
  })
})
