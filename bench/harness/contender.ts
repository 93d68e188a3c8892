/**
 * A server under measurement and the one way all of them are measured: a short
 * warm-up, then so many messages from the first that is sent to the last that
 * the sink has, with the CPU of every process in between. The ledger of the
 * sink must be exact: a lost, doubled, unsigned or mixed-up message is an
 * `offence` that fails the benchmark.
 */
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Groups, machineCpuMs, readUsage, resetPeaks, type Usages } from './cpu.ts'
import { monotonicMs } from './clock.ts'
import { judgeSignature } from './dkim.ts'
import type { Remote } from './remote.ts'
import type { Expected, Ledger } from './sink.ts'

/** What the load generator tells. */
export interface Sent {
  /** Before the first byte was sent, and when the last message was accepted (`clock.ts`). */
  readonly startedAt: number
  readonly endedAt: number
  readonly loadCpuMs: number
  /** How long an accept took, where the load generator can tell. */
  readonly acceptP50Ms?: number
  readonly acceptP99Ms?: number
}

export interface Contender {
  readonly name: string
  /** One line for the tables: version and how it is set up. */
  readonly describe: string
  /** TXT records by name that its signatures are judged with; null = it does not sign. */
  readonly dkimRecords: Readonly<Record<string, string>> | null
  /** Starts the server so that it delivers to this port; the processes to be measured. */
  start(sinkPort: number): Promise<Groups>
  /** The numbers that the next `send` of so many messages will use. */
  expect(count: number): Expected
  send(expected: Expected): Promise<Sent>
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
  /** Part of the machine's CPU, 0 to 1, that went to processes which are none of ours. */
  readonly foreignShare: number
  readonly ledger: Omit<Ledger, 'sample'>
  /** What must not be, in words; empty when all is well. */
  readonly offences: readonly string[]
}

/** Time for results to be written down after the last delivery, which is part of the cost of a message. */
const SETTLE_MS = 500
/** Nothing has come to the sink for so long: the rest is lost. */
const STALL_MS = 30_000

/** Measures `count` messages on a running contender. */
export async function measure(
  contender: Contender,
  groups: Groups,
  sink: Remote<'sink'>,
  count: number,
): Promise<Measurement> {
  const expected = contender.expect(count)
  await sink.begin(expected)
  resetPeaks(groups)
  const all = { ...groups, sink: sink.pid }
  const before = readUsage(all)
  const foreign = watchForeign(all)
  const sent = await contender.send(expected)
  await arrive(sink, count)
  await sleep(SETTLE_MS)
  const after = readUsage(all)
  const foreignShare = foreign(sent.loadCpuMs)
  const { sample, ...ledger } = await sink.finish()
  const cpuMs: Record<string, number> = { ...costs(before, after, count), load: sent.loadCpuMs / count }
  return {
    messages: count,
    deliveredRate: (count * 1000) / (ledger.lastAt - sent.startedAt),
    acceptedRate: (count * 1000) / (sent.endedAt - sent.startedAt),
    ...(sent.acceptP50Ms !== undefined && { acceptP50Ms: sent.acceptP50Ms }),
    ...(sent.acceptP99Ms !== undefined && { acceptP99Ms: sent.acceptP99Ms }),
    cpuMs: { server: Object.keys(groups).reduce((sum, name) => sum + (cpuMs[name] ?? 0), 0), ...cpuMs },
    peakMb: peaks(after),
    foreignShare,
    ledger,
    offences: await offencesOf(contender, expected, { sample, ...ledger }),
  }
}

/**
 * Begins to watch what other processes of the machine take. The returned function ends it and answers their part of all cores;
 * it is told what ended in between and is in no group.
 */
export function watchForeign(groups: Groups): (endedCpuMs: number) => number {
  const own = (): number =>
    Object.values(readUsage(groups)).reduce((sum, { cpuMs }) => sum + cpuMs, 0) + process.cpuUsage().user / 1000
  const [startedAt, machineBefore, ownBefore] = [monotonicMs(), machineCpuMs(), own()]
  return (endedCpuMs) => {
    const foreign = machineCpuMs() - machineBefore - (own() - ownBefore) - endedCpuMs
    return Math.max(0, foreign) / ((monotonicMs() - startedAt) * availableParallelism())
  }
}

/** Resolves when the sink has so many different messages, or when nothing has come for half a minute. */
export async function arrive(sink: Remote<'sink'>, count: number): Promise<void> {
  let seen = 0
  for (let changedAt = monotonicMs(); monotonicMs() - changedAt < STALL_MS; await sleep(50)) {
    const now = await sink.progress()
    if (now >= count) return
    if (now > seen) changedAt = monotonicMs()
    seen = now
  }
}

/** CPU milliseconds per message and process between two readings. */
export function costs(before: Usages, after: Usages, count: number): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).map(([name, { cpuMs }]) => [name, (cpuMs - (before[name]?.cpuMs ?? 0)) / count]),
  )
}

export function peaks(usages: Usages): Record<string, number> {
  return Object.fromEntries(Object.entries(usages).map(([name, { peakKb }]) => [name, peakKb / 1024]))
}

async function offencesOf({ name, dkimRecords }: Contender, expected: Expected, ledger: Ledger): Promise<string[]> {
  const counted = countOffences(expected, ledger).filter(
    (offence) => dkimRecords !== null || !offence.includes('signed'),
  )
  const verdict =
    dkimRecords === null || ledger.distinct === 0 ? null : await judgeSignature(ledger.sample, dkimRecords)
  return [...counted, ...(verdict === null ? [] : [verdict])].map((offence) => `${name}: ${offence}`)
}

/** What a ledger shows that must not be. */
export function countOffences({ count }: Pick<Expected, 'count'>, ledger: Omit<Ledger, 'sample'>): string[] {
  const kinds: readonly (readonly [number, string])[] = [
    [count - ledger.distinct, 'lost'],
    [ledger.doubled, 'delivered twice'],
    [ledger.strays, 'not expected'],
    [ledger.mixedUp, 'with the body of another'],
    [ledger.unsigned, 'not signed'],
  ]
  return kinds.filter(([number]) => number > 0).map(([number, what]) => `${number} of ${count} messages ${what}`)
}
