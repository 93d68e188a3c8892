/**
 * The outbound process is killed with -9 while a message is at each stage of its delivery. No message is lost, and
 * none is delivered twice unless the receiver had the complete message before the kill.
 */
import { assert } from 'chai'
import { checkConsistency } from '#test/support/consistency-checks.ts'
import { startDns, type ZoneRecords, type TestDns } from '#test/support/dns.ts'
import { waitUntilDrained, Ledger } from '#test/support/ledger.ts'
import type { ReceiverScript } from '#test/support/receiver-script.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { startSystem, printLogsOnFailure, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const MESSAGES = 12
const LONG = 'Line of text.\r\n'.repeat(400_000)

interface Row {
  readonly stage: string
  /** What holds the delivery there. */
  readonly script?: ReceiverScript
  readonly slow?: 'MX' | 'A'
  readonly text?: string
  /** The command line that shows that it is there; a first connection where there is none. */
  readonly heard?: string
  /** The receiver had all of it: it may come again. */
  readonly isTaken?: true
}

const PLAIN = { pipelining: false } as const

const ROWS: readonly Row[] = [
  { stage: 'taken from the schedule, its route not known yet', slow: 'MX' },
  { stage: 'claimed, the address of the host not known yet', slow: 'A' },
  { stage: 'connected, before the greeting', script: { on: { greeting: { end: 'silence' } } } },
  { stage: 'in the TLS handshake', script: { handshake: 'silence' }, heard: 'STARTTLS' },
  { stage: 'after MAIL', script: { offers: PLAIN, on: { mail: { end: 'silence' } } }, heard: 'MAIL' },
  { stage: 'after RCPT', script: { offers: PLAIN, on: { rcpt: { end: 'silence' } } }, heard: 'RCPT' },
  { stage: 'after a pipelined envelope', script: { on: { mail: { end: 'silence' } } }, heard: 'MAIL' },
  { stage: 'after DATA', script: { offers: PLAIN, on: { data: { end: 'silence' } } }, heard: 'DATA' },
  {
    stage: 'after the final dot, not taken',
    script: { on: { dot: { accepts: false, end: 'silence' } } },
    heard: 'DATA',
  },
  {
    stage: 'after the final dot, taken and not yet answered',
    script: { on: { dot: { accepts: true, end: 'silence' } } },
    heard: 'DATA',
    isTaken: true,
  },
  // last: a receiver that does not read does not see the end of the connection either
  {
    stage: 'in the middle of the content',
    script: { bodyAfter: 20_000, on: { body: { end: 'stall' } } },
    heard: 'DATA',
    text: LONG,
  },
]

describe('kill -9 of the outbound process', () => {
  let dns: TestDns
  let mx: Receiver
  let system: System

  before(async () => {
    mx = await startReceiver()
    dns = await startDns({})
    system = await startSystem({ env: { DNS_SERVERS: dns.server, SMTP_OUT_PORT: String(mx.port) } })
  })
  after(async () => {
    await system.stop()
    await mx.stop()
    await dns.stop()
  })
  beforeEach(() => system.startMissing())
  printLogsOnFailure(() => system)

  /** The records of a receiver's domain; one kind of them may get no answer. */
  function publish(domain: string, slow?: 'MX' | 'A'): void {
    const silence = (isSilent: boolean): ZoneRecords => (isSilent ? { fault: 'silence' } : {})
    dns.zone[domain] = { MX: [[10, `mx.${domain}`]], ...silence(slow === 'MX') }
    dns.zone[`mx.${domain}`] = { A: ['127.0.0.1'], ...silence(slow === 'A') }
  }

  for (const [i, { stage, script = {}, slow, text, heard, isTaken = false }] of ROWS.entries()) {
    const duplicates = isTaken ? '; only an accepted message is sent again' : ' or duplicated'
    it(`${stage}: no message is lost${duplicates}`, async () => {
      const domain = `stage${i}.example`
      publish(domain, slow)
      mx.script = script
      const [connections, commands] = [mx.connections, mx.commands.length]
      const ledger = new Ledger(system)
      await ledger.load({ count: text === undefined ? MESSAGES : 3, domain, ...(text === undefined ? {} : { text }) })
      const isThere = (): boolean => {
        if (slow !== undefined) return dns.queries.some(({ name, type }) => type === slow && name.endsWith(domain))
        return heard === undefined
          ? mx.connections > connections
          : mx.commands.slice(commands).some(({ line }) => line.startsWith(heard))
      }
      await until(isThere)
      if (isTaken) await until(() => ledger.copies(mx.messages).size > 0)

      await system.roles.mta.kill()
      if (text === undefined) await until(() => mx.open === 0)
      const taken = new Set(ledger.copies(mx.messages).keys())
      assert.strictEqual(taken.size > 0, isTaken)
      publish(domain)
      mx.script = {}
      await system.startMissing()
      await waitUntilDrained(system)

      const { lost, duplicated, unexpected } = ledger.compare(mx.messages)
      assert.deepEqual({ lost, unexpected }, { lost: [], unexpected: [] })
      assert.deepEqual(duplicated.toSorted(), [...taken].toSorted())
      await checkConsistency(system)
    })
  }
})
