/**
 * Does a message cost more when the queue is long? Measures CPU per message and
 * messages a second while a queue is drained: a short queue many times (SIGSTOP
 * holds the outbound process while the queue is filled, so that it stays warm), and
 * a long queue once, in its first window (all messages queued) and its last (few
 * messages left). A window has as many messages as all short drains together.
 * After the long queue is filled, the scenario waits until PostgreSQL is idle
 * (checkpoints, statistics): that work is a cost of accepting.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { monotonicMs } from '#bench/harness/clock.ts'
import { waitForArrivals, countViolations } from '#bench/harness/contender.ts'
import { type ProcessGroups, readUsage } from '#bench/harness/cpu.ts'
import { signalOutbound } from '#bench/harness/outbound.ts'

export interface Drain {
  /** Messages queued at the start of the window. */
  readonly queued: number
  readonly messages: number
  /** CPU of api, mta, worker and the stores per message, and of each of them. */
  readonly cpuMs: number
  readonly processMs: Readonly<Record<string, number>>
  readonly rate: number
}

export interface DepthResult {
  readonly shallow: Drain
  readonly deepFirst: Drain
  readonly deepLast: Drain
  /** The whole long drain in ten parts. */
  readonly parts: readonly Drain[]
  readonly violations: readonly string[]
}

/** The state of a drain at one point in time. */
interface DrainSample {
  readonly done: number
  readonly at: number
  readonly cpuMs: CpuTimes
}
type CpuTimes = Readonly<Record<string, number>>

const SETTLE_MS = 500
const POLL_MS = 200
/** PostgreSQL is idle when it uses less than 5 % of a core for this long. The scenario waits at most IDLE_LIMIT_MS. */
const IDLE_MS = 2000
const IDLE_LIMIT_MS = 120_000

export async function runDepth(bench: MailsteadBench): Promise<DepthResult> {
  const {
    mailstead,
    receiver: { port },
  } = bench
  try {
    await mailstead.start(['api', 'mta', 'worker'], { '*': port })
    const shallow = await drainShallow(bench)
    bench.say(`  ${shallow.result.queued} queued: ${shallow.result.cpuMs.toFixed(2)} ms CPU a message`)
    await mailstead.stop('mta')
    const deep = await drainDeep(bench)
    const violations = [...shallow.violations, ...deep.violations].map((violation) => `depth: ${violation}`)
    return { shallow: shallow.result, ...deep.result, violations }
  } finally {
    await mailstead.stop('worker', 'mta', 'api')
  }
}

async function drainShallow({
  mailstead,
  sizes,
  receiver: { sink },
}: MailsteadBench): Promise<{ result: Drain; violations: string[] }> {
  const { warmUp, shallow, shallowRounds } = sizes
  const groups = mailstead.groups()
  const violations: string[] = []
  const spent: CpuTimes[] = []
  let spentMs = 0
  // The first round only warms up.
  for (let round = 0; round <= shallowRounds; round++) {
    const count = round === 0 ? warmUp : shallow
    const from = mailstead.reserve(count)
    await sink.begin({ from, count, hasNumberedBody: true })
    signalOutbound(groups, 'SIGSTOP')
    await mailstead.post('bulk', { from, count })
    const before = cpuTimes(groups)
    signalOutbound(groups, 'SIGCONT')
    await waitForArrivals(sink, count)
    await sleep(SETTLE_MS)
    const { sample: _, ...ledger } = await sink.finish()
    violations.push(...countViolations({ count }, ledger))
    if (round === 0) continue
    spent.push(combine(cpuTimes(groups), before, (after, earlier) => after - earlier))
    spentMs += ledger.lastAt - ledger.firstAt
  }
  const messages = shallow * shallowRounds
  const total = spent.reduce((sum, times) => combine(sum, times, (one, other) => one + other))
  return {
    result: { queued: shallow, ...perMessage(total, messages), rate: ((shallow - 1) * shallowRounds * 1000) / spentMs },
    violations,
  }
}

async function drainDeep(
  bench: MailsteadBench,
): Promise<{ result: Omit<DepthResult, 'shallow' | 'violations'>; violations: string[] }> {
  const {
    mailstead,
    sizes: { deep, deepWarmUp, window, shallow },
    receiver: { sink, port },
  } = bench
  const count = deepWarmUp + deep
  const from = mailstead.reserve(count)
  await sink.begin({ from, count, hasNumberedBody: true })
  await mailstead.post('bulk', { from, count })
  bench.say(`  ${count} are queued`)
  await waitForIdlePostgres(mailstead.groups())
  await mailstead.start(['mta'], { '*': port })
  const samples = await watchDrain(bench, count)
  const drain = (queued: number, messages: number): Drain =>
    between(interpolate(samples, count - queued), interpolate(samples, count - queued + messages), queued)
  const tenth = Math.floor(count / 10)
  return {
    result: {
      deepFirst: drain(deep, window),
      deepLast: drain(shallow + window, window),
      parts: Array.from({ length: 10 }, (_, index) => drain(count - index * tenth, tenth)),
    },
    violations: countViolations({ count }, await sink.finish()),
  }
}

async function waitForIdlePostgres({ postgres }: ProcessGroups): Promise<void> {
  if (postgres === undefined) return
  const spent = (): number => cpuTimes({ postgres })['postgres'] ?? 0
  for (const end = monotonicMs() + IDLE_LIMIT_MS; monotonicMs() < end;) {
    const before = spent()
    await sleep(IDLE_MS)
    if (spent() - before < IDLE_MS / 20) return
  }
}

/** Samples a drain until all messages have arrived, or no more arrive. */
async function watchDrain({ mailstead, receiver: { sink } }: MailsteadBench, count: number): Promise<DrainSample[]> {
  const groups = mailstead.groups()
  const sample = async (): Promise<DrainSample> => ({
    done: await sink.progress(),
    at: monotonicMs(),
    cpuMs: cpuTimes(groups),
  })
  const samples: DrainSample[] = []
  let isOver = false
  const end = waitForArrivals(sink, count).finally(() => {
    isOver = true
  })
  while (!isOver) {
    samples.push(await sample())
    await sleep(POLL_MS)
  }
  await end
  samples.push(await sample())
  return samples
}

/** The state when `done` messages had arrived, interpolated between the samples before and after it. */
export function interpolate(samples: readonly DrainSample[], done: number): DrainSample {
  const next = samples.findIndex((sample) => sample.done >= done)
  const [after, before] = [samples[next] ?? samples.at(-1), samples[next - 1]]
  if (after === undefined) throw new RangeError('the drain was not watched')
  if (before === undefined || next < 0) return after
  const part = (done - before.done) / (after.done - before.done)
  const blend = (later: number, earlier: number): number => earlier + part * (later - earlier)
  return { done, at: blend(after.at, before.at), cpuMs: combine(after.cpuMs, before.cpuMs, blend) }
}

function between(begin: DrainSample, end: DrainSample, queued: number): Drain {
  const messages = end.done - begin.done
  const spent = combine(end.cpuMs, begin.cpuMs, (after, before) => after - before)
  return { queued, ...perMessage(spent, messages), rate: (messages * 1000) / (end.at - begin.at) }
}

function perMessage(spent: CpuTimes, messages: number): Pick<Drain, 'messages' | 'cpuMs' | 'processMs'> {
  const processMs = Object.fromEntries(Object.entries(spent).map(([name, ms]) => [name, ms / messages]))
  return { messages, cpuMs: Object.values(processMs).reduce((sum, ms) => sum + ms, 0), processMs }
}

/** Combines two readings, process by process. */
function combine(one: CpuTimes, other: CpuTimes, how: (one: number, other: number) => number): CpuTimes {
  return Object.fromEntries(Object.entries(one).map(([name, ms]) => [name, how(ms, other[name] ?? 0)]))
}

function cpuTimes(groups: ProcessGroups): CpuTimes {
  return Object.fromEntries(Object.entries(readUsage(groups)).map(([name, { cpuMs }]) => [name, cpuMs]))
}
