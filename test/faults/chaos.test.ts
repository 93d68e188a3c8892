/**
 * Random faults while two outbound processes deliver mail to a receiver that misbehaves at random. After each fault
 * everything is restarted; at the end every message is accounted for. FAULT_SEED repeats a run, FAULT_ROUNDS makes it
 * longer.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { resume, suspend } from '#src/queue/suspensions.ts'
import { checkConsistency } from '#test/support/consistency-checks.ts'
import { killInFlight } from '#test/support/kill.ts'
import { waitUntilDrained, Ledger } from '#test/support/ledger.ts'
import type { ReceiverState } from '#test/support/receiver-script.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { startSystem, printLogsOnFailure, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 10)
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000)
/** Messages between two faults. */
const EACH = 120

/** Random numbers that a seed repeats. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

describe(`chaos, seed ${SEED}`, function () {
  this.timeout(60_000 + ROUNDS * 15_000)
  const random = createRandom(SEED)
  let mx: Receiver
  let system: System
  let ledger: Ledger
  /** Addresses that may come twice. */
  const windows = new Set<string>()

  before(async () => {
    mx = await startReceiver()
    system = await startSystem({ isCrashable: true, env: { ROUTES: `*=smtp://127.0.0.1:${mx.port}` } })
    ledger = new Ledger(system)
    await system.roles.mta2.start()
  })
  after(async () => {
    await system.stop()
    await mx.stop()
  })
  printLogsOnFailure(() => system)
  afterEach(() => ledger.close())

  async function killOutbound(role: 'mta' | 'mta2'): Promise<void> {
    for (const address of await killInFlight(system, mx, role)) windows.add(address)
    await system.roles[role].start()
  }

  const FAULTS: Readonly<Record<string, () => Promise<void>>> = {
    'outbound killed': () => killOutbound('mta'),
    'the other outbound killed': () => killOutbound('mta2'),
    'outbound asked to stop': async () => {
      await system.roles.mta.terminate()
      await system.roles.mta.start()
    },
    'worker killed': async () => {
      await system.roles.worker.kill()
      await system.roles.worker.start()
    },
    'api killed': async () => {
      await system.roles.api.kill()
      await system.roles.api.start()
    },
    'api and worker asked to stop': async () => {
      await Promise.all([system.roles.api.terminate(), system.roles.worker.terminate()])
      await Promise.all([system.roles.api.start(), system.roles.worker.start()])
    },
    'Redis killed': async () => {
      await system.redisServer.crash()
      await system.redisServer.restart()
    },
    'PostgreSQL killed': async () => {
      await system.postgres.crash()
      await system.postgres.restart()
    },
    'both stores killed': async () => {
      await Promise.all([system.postgres.crash(), system.redisServer.crash()])
      await Promise.all([system.postgres.restart(), system.redisServer.restart()])
    },
    'schedule thrown away': async () => {
      // the fault before it may have been the death of Redis
      await until(() => system.redis.status === 'ready')
      await system.redis.flushall()
    },
    'outbound paused for a moment': async () => {
      system.roles.mta.pause()
      await sleep(1000 * random())
      system.roles.mta.resume()
    },
    'destination suspended for a moment': async () => {
      await suspend(system, '*', 'chaos')
      await sleep(500 * random())
      await resume(system, '*')
    },
  }

  /** Each address meets one bad mood at most, so that no tier runs out of tries. */
  function moody(answers: Readonly<Record<string, number>>): (moment: ReceiverState) => string | undefined {
    const met = new Set<string>()
    return ({ to: [address = ''], address: named }) => {
      const who = named === '' ? address : named
      if (met.has(who)) return undefined
      met.add(who)
      return Object.entries(answers).find(([, share]) => random() < share)?.[0]
    }
  }

  it('balances', async () => {
    const atRcpt = moody({ '451 4.7.1 Greylisted': 0.03, '421 4.3.2 Closing': 0.02 })
    const atDot = moody({ taken: 0.01, dropped: 0.01, '452 4.3.1 Disk full': 0.02 })
    mx.script = {
      on: {
        rcpt: (moment) => atRcpt(moment),
        dot: (moment) => {
          const mood = atDot(moment)
          if (mood === 'taken') windows.add(moment.to[0] ?? '')
          return mood === 'taken' || mood === 'dropped' ? { accepts: mood === 'taken', end: 'reset' } : mood
        },
      },
    }
    const names = Object.keys(FAULTS)
    const history: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const loading = ledger.load({ count: EACH, tiers: ['instant', 'high', 'normal'] })
      await sleep(300 * random())
      const name = names[Math.floor(random() * names.length)] ?? ''
      history.push(name)
      await FAULTS[name]?.()
      await system.startMissing()
      await loading
    }
    await waitUntilDrained(system, 60_000)
    const { lost, duplicated, unexpected } = ledger.compare(mx.messages)
    const found = { lost, unexpected, doubled: duplicated.filter((address) => !windows.has(address)) }
    assert.deepEqual(
      found,
      { lost: [], unexpected: [], doubled: [] },
      `${JSON.stringify(found)} after ${history.join(', ')}`,
    )
    await checkConsistency(system)
  })
})
