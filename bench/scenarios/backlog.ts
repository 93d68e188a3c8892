/**
 * Instant mail while much bulk mail is queued. The queue is filled while no
 * outbound process runs. Then one is started, and instant mail is sent to the same
 * site and to another one: first with a fast receiver (CPU is the limit), then
 * with a receiver that takes 20 ms for each reply (connections to the site are the
 * limit). At the end all mail must have arrived.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { waitForArrivals, countViolations, peakMemory } from '#bench/harness/contender.ts'
import { readUsage } from '#bench/harness/cpu.ts'
import type { Probe } from '#bench/harness/load.ts'
import { type Latencies, latencies } from './latency.ts'

const INTERVAL_MS = 100
const SLOW_REPLY_MS = 20
const OTHER_SITE = 'other.example'

export interface BacklogPhase {
  readonly name: string
  /** From accept to the receiver's 250. */
  readonly sameSite: Latencies
  readonly otherSite: Latencies
  /** Bulk mails still queued when the last instant mail was sent; with 0 the phase shows nothing. */
  readonly queuedAtEnd: number
}

export interface BacklogResult {
  readonly queued: number
  readonly acceptedRate: number
  readonly phases: readonly BacklogPhase[]
  readonly mtaPeakMb: number
  readonly violations: readonly string[]
}

interface SentPhase {
  readonly name: string
  readonly same: readonly Probe[]
  readonly other: readonly Probe[]
  readonly queuedAtEnd: number
}

/** The first number of each group: bulk, then the instant mail of both phases to the same site, and to the other. */
interface NumberRanges {
  readonly bulk: number
  readonly same: number
  readonly other: number
  readonly total: number
}

export async function runBacklog(bench: MailsteadBench): Promise<BacklogResult> {
  const { mailstead, sizes, receiver, otherReceiver } = bench
  const routes = { '*': receiver.port, [OTHER_SITE]: otherReceiver.port }
  try {
    const numbers = await openLedgers(bench)
    await mailstead.start(['api', 'worker'], routes)
    const fill = await mailstead.post('bulk', { from: numbers.bulk, count: sizes.backlog })
    bench.say(`  ${sizes.backlog} bulk mails are queued`)
    await mailstead.start(['mta'], routes)
    await waitForArrivals(receiver.sink, Math.min(1000, sizes.backlog / 10))
    const phases = [await sendPhase(bench, 'fast receiver', numbers, 0)]
    await receiver.sink.slow(SLOW_REPLY_MS)
    await sleep(500)
    phases.push(await sendPhase(bench, `receiver takes ${SLOW_REPLY_MS} ms`, numbers, sizes.backlogProbes))
    await receiver.sink.slow(0)
    await waitForArrivals(receiver.sink, numbers.total)
    await waitForArrivals(otherReceiver.sink, 2 * sizes.backlogProbes)
    return {
      queued: sizes.backlog,
      acceptedRate: (sizes.backlog * 1000) / (fill.endedAt - fill.startedAt),
      phases: await timePhases(bench, phases, numbers),
      mtaPeakMb: peakMemory(readUsage(mailstead.groups()))['mta'] ?? 0,
      violations: [
        ...countViolations({ count: numbers.total }, await receiver.sink.finish()),
        ...countViolations({ count: 2 * sizes.backlogProbes }, await otherReceiver.sink.finish()),
      ].map((violation) => `backlog: ${violation}`),
    }
  } finally {
    await receiver.sink.slow(0)
    await mailstead.stop('worker', 'mta', 'api')
  }
}

async function openLedgers({ mailstead, sizes, receiver, otherReceiver }: MailsteadBench): Promise<NumberRanges> {
  const probes = 2 * sizes.backlogProbes
  const total = sizes.backlog + probes
  const bulk = mailstead.reserve(total)
  const other = mailstead.reserve(probes)
  await receiver.sink.begin({ from: bulk, count: total, hasNumberedBody: true })
  await otherReceiver.sink.begin({ from: other, count: probes, hasNumberedBody: true })
  return { bulk, same: bulk + sizes.backlog, other, total }
}

/** Sends to both sites at the same time; the previous phase used the first `skip` numbers. */
async function sendPhase(
  { mailstead, sizes, receiver }: MailsteadBench,
  name: string,
  numbers: NumberRanges,
  skip: number,
): Promise<SentPhase> {
  const options = { count: sizes.backlogProbes, intervalMs: INTERVAL_MS }
  const [same, other] = await Promise.all([
    mailstead.probe({ ...options, from: numbers.same + skip }),
    mailstead.probe({ ...options, from: numbers.other + skip, site: OTHER_SITE }),
  ])
  // Arrived instant mail is counted as bulk mail here, so this can be a little too low, never too high.
  return { name, same, other, queuedAtEnd: Math.max(0, sizes.backlog - (await receiver.sink.progress())) }
}

async function timePhases(
  { receiver, otherReceiver }: MailsteadBench,
  phases: readonly SentPhase[],
  numbers: NumberRanges,
): Promise<BacklogPhase[]> {
  const sameArrivals = await receiver.sink.arrivals()
  const otherArrivals = await otherReceiver.sink.arrivals()
  return phases.map(({ name, same, other, queuedAtEnd }) => ({
    name,
    sameSite: latencies(same, sameArrivals, numbers.bulk).fromAccept,
    otherSite: latencies(other, otherArrivals, numbers.other).fromAccept,
    queuedAtEnd,
  }))
}
