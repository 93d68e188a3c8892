/**
 * A server under measurement, and the measurement that is the same for all of
 * them: a given number of messages, from the first byte sent to the last message
 * at the sink, with the CPU time of every process in between. A message that is
 * lost, duplicated, unsigned or has another recipient's body is a violation and
 * fails the benchmark.
 */
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ProcessGroups, machineCpuMs, readUsage, resetPeaks, type GroupUsage } from './cpu.ts'
import { monotonicMs } from './clock.ts'
import { verifySignature } from './dkim.ts'
import type { MailMix } from '#bench/mails/mail-mix.ts'
import type { MeasuredSink } from './rate-sink.ts'
import { measureSignature } from './signature.ts'
import { readThreads, threadsPerMessage, type ThreadTimes } from './threads.ts'
import type { ExpectedMessages, SinkLedger } from './sink.ts'

/** The load generator's result. */
export interface SendResult {
  /** Before the first byte was sent, and when the last message was accepted (`clock.ts`). */
  readonly startedAt: number
  readonly endedAt: number
  readonly loadCpuMs: number
  /** Time until a message was accepted; only some load generators measure it. */
  readonly acceptP50Ms?: number
  readonly acceptP99Ms?: number
}

export interface Contender {
  readonly name: string
  /** One line for the tables: version and configuration. */
  readonly describe: string
  /** TXT records by name, to verify its signatures with; null = it does not sign. */
  readonly dkimRecords: Readonly<Record<string, string>> | null
  /** Starts the server so that it delivers to this port. Returns the processes to measure. */
  start(sinkPort: number): Promise<ProcessGroups>
  /** The message numbers that the next `send` of `count` messages will use. */
  expect(count: number): ExpectedMessages
  send(expected: ExpectedMessages, mix: MailMix): Promise<SendResult>
  stop(): Promise<void>
}

export interface Measurement {
  readonly messages: number
  /** Messages a second, from the first sent to the last at the sink. */
  readonly deliveredRate: number
  /** Messages a second, from the first sent to the last accepted. */
  readonly acceptedRate: number
  readonly acceptP50Ms?: number
  readonly acceptP99Ms?: number
  /** CPU milliseconds per message, which is seconds per 1,000; `server` is the sum of its processes. */
  readonly cpuMs: Readonly<Record<string, number>>
  readonly peakMb: Readonly<Record<string, number>>
  /** CPU milliseconds of one RSA-2048 signature, just before and after the measurement: the unit of other machines. */
  readonly signatureMs: number
  /** CPU milliseconds per message of each process by kind of thread. */
  readonly threadMs: Readonly<Record<string, ThreadTimes>>
  /** Share of the machine's CPU, 0 to 1, that processes outside the benchmark used. */
  readonly otherCpuShare: number
  readonly ledger: Omit<SinkLedger, 'sample'>
  /** Descriptions of lost, duplicated or otherwise wrong messages; empty when there are none. */
  readonly violations: readonly string[]
}

/** Time to store the results after the last delivery; that is part of the cost of a message. */
const SETTLE_MS = 500
/** When no message arrives at the sink for this long, the missing ones count as lost. */
const STALL_MS = 30_000

export interface MeasuredLoad {
  readonly count: number
  readonly mix: MailMix
}

/** Measures `count` messages on a running contender. */
export async function measure(
  contender: Contender,
  groups: ProcessGroups,
  sink: MeasuredSink,
  { count, mix }: MeasuredLoad,
): Promise<Measurement> {
  const signatureBefore = measureSignature()
  const expected = contender.expect(count)
  await sink.begin(expected)
  resetPeaks(groups)
  const measured = { ...groups, sink: sink.pid }
  const [before, threadsBefore] = [readUsage(measured), readThreads(groups)]
  const otherShare = watchOtherProcesses(measured)
  const sent = await contender.send(expected, mix)
  await waitForArrivals(sink, count)
  await sleep(SETTLE_MS)
  const [after, threadsAfter] = [readUsage(measured), readThreads(groups)]
  const otherCpuShare = otherShare(sent.loadCpuMs)
  const { sample, ...ledger } = await sink.finish()
  const cpuMs: Record<string, number> = { ...cpuPerMessage(before, after, count), load: sent.loadCpuMs / count }
  return {
    messages: count,
    deliveredRate: (count * 1000) / (ledger.lastAt - sent.startedAt),
    acceptedRate: (count * 1000) / (sent.endedAt - sent.startedAt),
    ...(sent.acceptP50Ms !== undefined && { acceptP50Ms: sent.acceptP50Ms }),
    ...(sent.acceptP99Ms !== undefined && { acceptP99Ms: sent.acceptP99Ms }),
    cpuMs: { server: Object.keys(groups).reduce((sum, name) => sum + (cpuMs[name] ?? 0), 0), ...cpuMs },
    peakMb: peakMemory(after),
    signatureMs: (signatureBefore + measureSignature()) / 2,
    threadMs: threadsPerMessage(threadsBefore, threadsAfter, count),
    otherCpuShare,
    ledger,
    violations: await findViolations(contender, expected, { sample, ...ledger }),
  }
}

/**
 * Starts to measure the CPU time of processes outside the benchmark. The returned function ends the measurement and
 * returns their share of all cores; its parameter is the CPU time of benchmark processes that ended in between.
 */
export function watchOtherProcesses(groups: ProcessGroups): (endedCpuMs: number) => number {
  const own = (): number =>
    Object.values(readUsage(groups)).reduce((sum, { cpuMs }) => sum + cpuMs, 0) + process.cpuUsage().user / 1000
  const [startedAt, machineBefore, ownBefore] = [monotonicMs(), machineCpuMs(), own()]
  return (endedCpuMs) => {
    const otherCpuMs = machineCpuMs() - machineBefore - (own() - ownBefore) - endedCpuMs
    return Math.max(0, otherCpuMs) / ((monotonicMs() - startedAt) * availableParallelism())
  }
}

/** Resolves when the sink has `count` different messages, or when none has arrived for half a minute. */
export async function waitForArrivals(sink: MeasuredSink, count: number): Promise<void> {
  let seen = 0
  for (let changedAt = monotonicMs(); monotonicMs() - changedAt < STALL_MS; await sleep(50)) {
    const now = await sink.progress()
    if (now >= count) return
    if (now > seen) changedAt = monotonicMs()
    seen = now
  }
}

/** CPU milliseconds per message and process between two readings. */
export function cpuPerMessage(before: GroupUsage, after: GroupUsage, count: number): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).map(([name, { cpuMs }]) => [name, (cpuMs - (before[name]?.cpuMs ?? 0)) / count]),
  )
}

export function peakMemory(usages: GroupUsage): Record<string, number> {
  return Object.fromEntries(Object.entries(usages).map(([name, { peakKb }]) => [name, peakKb / 1024]))
}

async function findViolations(
  { name, dkimRecords }: Contender,
  expected: ExpectedMessages,
  ledger: SinkLedger,
): Promise<string[]> {
  const counted = countViolations(expected, ledger).filter(
    (violation) => dkimRecords !== null || !violation.includes('signed'),
  )
  const verdict =
    dkimRecords === null || ledger.sample.length === 0 ? null : await verifySignature(ledger.sample, dkimRecords)
  return [...counted, ...(verdict === null ? [] : [verdict])].map((violation) => `${name}: ${violation}`)
}

/** One line for each kind of wrong message in a ledger. */
export function countViolations(
  { count }: Pick<ExpectedMessages, 'count'>,
  ledger: Omit<SinkLedger, 'sample'>,
): string[] {
  const kinds: readonly (readonly [number, string])[] = [
    [count - ledger.distinct, 'lost'],
    [ledger.duplicates, 'delivered twice'],
    [ledger.unexpected, 'not expected'],
    [ledger.wrongBody, "with another message's body"],
    [ledger.unsigned, 'not signed'],
  ]
  return kinds.filter(([number]) => number > 0).map(([number, what]) => `${number} of ${count} messages ${what}`)
}
