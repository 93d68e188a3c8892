/**
 * What more outbound processes cost, and what they would reach on a machine with more cores.
 *
 * First one outbound process and then two drain a queue, each bound to a core of its own. Then 1, 2, 4 and 16 of them
 * drain it on the first core together, with the stores, the worker and the receiver on the others. There, the processes
 * compete for claims, for the shares of throttles and for rows, but together they send no more than one. What a message
 * costs more than with one process is the price of this competition. With a core of its own each process would have
 * more mail in a batch, so the price is rather too high than too low.
 *
 * The receiver accepts as many connections of each process as of one alone, as if each had sites of its own: with one
 * site for all of them, its limit would make the batches small. SIGSTOP holds the outbound processes while the queue is
 * filled, so that they stay warm.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse, stringify } from 'yaml'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { monotonicMs } from '#bench/harness/clock.ts'
import { countViolations, cpuPerMessage, waitForArrivals } from '#bench/harness/contender.ts'
import { pinToCores } from '#bench/harness/cpu-pinning.ts'
import { readUsage } from '#bench/harness/cpu.ts'
import { isOutbound, outboundOf, signalOutbound } from '#bench/harness/outbound.ts'
import { type MeasuredSink, withRateSink } from '#bench/harness/rate-sink.ts'
import { ROOT } from '#bench/harness/role-processes.ts'
import { readThreads, threadsPerMessage } from '#bench/harness/threads.ts'
import { countOutboundProcesses } from '#bin/supervisor/children.ts'
import { UserError } from '#bin/supervisor/user-error.ts'

/** The cost of a message in one drain. CPU and waits are milliseconds a message. */
export interface CoresRun {
  readonly processes: number
  /** Bound to one core each, or all of them to the same one. */
  readonly hasOwnCores: boolean
  readonly rate: number
  /** All outbound processes together are `mta`. */
  readonly cpuMs: Readonly<Record<string, number>>
  /** Main threads of the outbound processes. */
  readonly mainMs: number
  /** Writing transactions of PostgreSQL a message. */
  readonly writes: number
  /** Connections that wait for locks of rows and tables, and for locks inside PostgreSQL. */
  readonly lockMs: number
  readonly internalMs: number
}

/** What accepting a message by REST costs, in CPU milliseconds. */
export interface AcceptCost {
  readonly cpuMs: Readonly<Record<string, number>>
  /** Main thread of the api. */
  readonly mainMs: number
}

export interface CoresResult {
  readonly runs: readonly CoresRun[]
  readonly accept: AcceptCost
  readonly violations: readonly string[]
}

export const PARTS = ['all cores', 'outbound', 'Redis', 'one api'] as const

/** Messages a second that each part allows for, on a machine that only runs Mailstead. */
export interface Prediction {
  readonly cores: number
  readonly processes: number
  readonly limits: Readonly<Record<Part, number>>
  /** The part with the smallest number. */
  readonly limitedBy: Part
}
type Part = (typeof PARTS)[number]

type Placement = Pick<CoresRun, 'processes' | 'hasOwnCores'>

const OWN_CORES = [1, 2]
const ONE_CORE = [1, 2, 4, 16]
const PREDICTED_CORES = [2, 8, 32]
const SETTLE_MS = 500

export async function runCores(bench: MailsteadBench, cores = availableParallelism()): Promise<CoresResult> {
  if (cores < 2) throw UserError.of('cores needs a machine with two cores or more')
  const { mailstead, receiver } = bench
  const routes = { '*': receiver.port }
  const runs: CoresRun[] = []
  const accepts: AcceptCost[] = []
  const violations: string[] = []
  const dir = mkdtempSync(join(tmpdir(), 'mailstead-cores-'))
  const placements: readonly Placement[] = [
    ...OWN_CORES.map((processes) => ({ processes, hasOwnCores: true })),
    ...ONE_CORE.map((processes) => ({ processes, hasOwnCores: false })),
  ]
  try {
    await mailstead.start(['api', 'worker'], routes)
    for (const placement of placements) {
      const { processes } = placement
      const settings = { SHAPING_FILE: writeShaping(dir, processes) }
      await mailstead.start(['mta'], routes, { outboundProcesses: processes, settings })
      bind(bench, placement, cores)
      const drained = await measureDrain(bench, range(placement.hasOwnCores ? 0 : 1, cores))
      await mailstead.stop('mta')
      const run = { ...placement, ...drained.run }
      runs.push(run)
      accepts.push(drained.accept)
      violations.push(...drained.violations)
      bench.say(`  ${describeRun(run)}`)
    }
    return { runs, accept: accepts[0] ?? { cpuMs: {}, mainMs: 0 }, violations }
  } finally {
    await mailstead.stop('worker', 'mta', 'api')
    rmSync(dir, { recursive: true, force: true })
    pinToCores(Object.values(mailstead.groups()), range(0, cores))
    bindReceiver(receiver.sink, range(0, cores))
  }
}

/** Writes the shipped limits with those of the transport map times the number of processes. Returns the file. */
function writeShaping(dir: string, processes: number): string {
  const shaping = parse(readFileSync(join(ROOT, 'config/shaping.yaml'), 'utf8')) as {
    receivers: Record<string, { connections: number }>
  }
  const host = shaping.receivers['transport-map']
  if (host !== undefined) host.connections *= processes
  const file = join(dir, `${processes}.yaml`)
  writeFileSync(file, stringify(shaping))
  return file
}

function describeRun({ processes, hasOwnCores, rate, cpuMs }: CoresRun): string {
  const where = hasOwnCores ? 'a core each' : 'on one core'
  return `${processes} outbound, ${where}: ${rate.toFixed(0)} a second, ${(cpuMs['mta'] ?? 0).toFixed(2)} ms CPU of mta`
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}

/** Binds the outbound processes, and in the second placement all others. */
function bind({ mailstead }: MailsteadBench, { hasOwnCores }: Placement, cores: number): void {
  const groups = mailstead.groups()
  const outbound = outboundOf(groups)
  if (hasOwnCores) outbound.forEach((pid, i) => pinToCores([pid], [i % cores]))
  else {
    pinToCores(outbound, [0])
    const others = Object.values(groups).filter((pid) => !outbound.includes(pid))
    pinToCores(others, range(1, cores))
  }
}

/** The receiver of the tests is in their own process, which stays as it is. */
function bindReceiver({ pid }: Pick<MeasuredSink, 'pid'>, cores: readonly number[]): void {
  if (pid !== process.pid) pinToCores([pid], cores)
}

interface Drained {
  readonly run: Omit<CoresRun, 'processes' | 'hasOwnCores'>
  readonly accept: AcceptCost
  readonly violations: readonly string[]
}

/** The checking sink receives the warm-up; then the rate is measured with the one that costs the least. */
async function measureDrain(bench: MailsteadBench, receiverCores: readonly number[]): Promise<Drained> {
  const { mailstead, receiver, sizes } = bench
  const groups = mailstead.groups()
  // each process compiles its own code
  const warmUp = await sendAll(bench, receiver.sink, sizes.warmUp * Math.max(1, outboundOf(groups).length / 2))
  const drained = await withRateSink(receiver, async (sink) => {
    bindReceiver(sink, receiverCores)
    const from = mailstead.reserve(sizes.coresMessages)
    const expected = { from, count: sizes.coresMessages, hasNumberedBody: true }
    await sink.begin(expected)
    const accept = await fill(bench, expected)
    const watched = await mailstead.watchLockWaits()
    const [usage, threads, startedAt] = [readUsage(groups), readThreads(groups), monotonicMs()]
    signalOutbound(groups, 'SIGCONT')
    await waitForArrivals(sink, expected.count)
    await sleep(SETTLE_MS)
    const perMessage = cpuPerMessage(usage, readUsage(groups), expected.count)
    const mainMs = sumOf(threadsPerMessage(threads, readThreads(groups), expected.count), ({ main = 0 }) => main)
    const { writes, lockMs, internalMs } = await watched()
    const { sample: _, ...ledger } = await sink.finish()
    const run = {
      rate: (expected.count * 1000) / (ledger.lastAt - startedAt),
      cpuMs: mergeOutbound(perMessage),
      mainMs,
      writes: writes / expected.count,
      lockMs: lockMs / expected.count,
      internalMs: internalMs / expected.count,
    }
    return { run, accept, violations: countViolations(expected, ledger) }
  })
  return { ...drained, violations: [...warmUp, ...drained.violations].map((violation) => `cores: ${violation}`) }
}

async function sendAll({ mailstead }: MailsteadBench, sink: MeasuredSink, count: number): Promise<string[]> {
  const from = mailstead.reserve(count)
  const expected = { from, count, hasNumberedBody: true }
  await sink.begin(expected)
  await mailstead.post('async', { from, count, mix: 'html' })
  await waitForArrivals(sink, count)
  await sleep(SETTLE_MS)
  const { sample: _, ...ledger } = await sink.finish()
  return countViolations(expected, ledger)
}

/** Queues the messages while the outbound processes are held. */
async function fill(
  { mailstead }: MailsteadBench,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<AcceptCost> {
  const groups = mailstead.groups()
  signalOutbound(groups, 'SIGSTOP')
  const [usage, threads] = [readUsage(groups), readThreads(groups)]
  await mailstead.post('async', { from, count, mix: 'html' })
  return {
    cpuMs: mergeOutbound(cpuPerMessage(usage, readUsage(groups), count)),
    mainMs: threadsPerMessage(threads, readThreads(groups), count)['api']?.main ?? 0,
  }
}

function sumOf<T>(times: Readonly<Record<string, T>>, of: (one: T) => number): number {
  return Object.entries(times).reduce((sum, [name, one]) => sum + (isOutbound(name) ? of(one) : 0), 0)
}

function mergeOutbound(cpuMs: Readonly<Record<string, number>>): Record<string, number> {
  const others = Object.entries(cpuMs).filter(([name]) => !isOutbound(name))
  return { ...Object.fromEntries(others), mta: sumOf(cpuMs, (ms) => ms) }
}

/**
 * Messages a second, accepted and sent, on machines with 2, 8 and 32 cores, from the cost of a message with as many
 * outbound processes as `start` runs there. A part that runs on one core is a limit of its own: the main thread of each
 * outbound process, Redis, and the main thread of an api.
 */
export function predict({ runs, accept }: Pick<CoresResult, 'runs' | 'accept'>): Prediction[] {
  return PREDICTED_CORES.flatMap((cores) => {
    const processes = countOutboundProcesses(cores)
    const run = runs.find((one) => !one.hasOwnCores && one.processes === processes)
    if (run === undefined) return []
    const redisMs = (run.cpuMs['redis'] ?? 0) + (accept.cpuMs['redis'] ?? 0)
    const limits = {
      'all cores': (1000 * cores) / (total(run.cpuMs) + total(accept.cpuMs)),
      outbound: (1000 * processes) / run.mainMs,
      Redis: 1000 / redisMs,
      'one api': 1000 / accept.mainMs,
    }
    return [{ cores, processes, limits, limitedBy: smallest(limits) }]
  })
}

function total(cpuMs: Readonly<Record<string, number>>): number {
  return Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0)
}

function smallest(limits: Prediction['limits']): Part {
  return PARTS.reduce<Part>((least, part) => (limits[part] < limits[least] ? part : least), PARTS[0])
}
