/**
 * Does a message cost more when the queue is long? CPU per message and messages
 * a second while draining: a short queue many times (the outbound process is
 * held by SIGSTOP while it is filled, so that it stays warm), and a long one
 * once, of which the first window (everything queued) and the last one (little
 * is left) are looked at. Each window has as many messages as all short drains
 * together, so like is compared with like.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MailsteadBench } from '#bench/bench.ts'
import { monotonicMs } from '#bench/clock.ts'
import { arrive, countOffences } from '#bench/contender.ts'
import { type Groups, readUsage } from '#bench/cpu.ts'

export interface Drain {
  /** Messages queued when the window begins. */
  readonly queued: number
  readonly messages: number
  /** CPU of api, mta, worker and the stores per message. */
  readonly cpuMs: number
  readonly rate: number
}

export interface DepthResult {
  readonly shallow: Drain
  readonly deepFirst: Drain
  readonly deepLast: Drain
  /** The whole long drain in ten parts. */
  readonly parts: readonly Drain[]
  readonly offences: readonly string[]
}

/** The state of a drain at one moment. */
interface Mark { readonly done: number; readonly at: number; readonly cpuMs: number }

const SETTLE_MS = 500
const POLL_MS = 50

export async function runDepth(bench: MailsteadBench): Promise<DepthResult> {
  const { mailstead, receiver: { port } } = bench
  try {
    await mailstead.start(['api', 'mta', 'worker'], { '*': port })
    const shallow = await drainShallow(bench)
    bench.say(`  ${shallow.result.queued} queued: ${shallow.result.cpuMs.toFixed(2)} ms CPU a message`)
    await mailstead.stop('mta')
    const deep = await drainDeep(bench)
    const offences = [...shallow.offences, ...deep.offences].map((offence) => `depth: ${offence}`)
    return { shallow: shallow.result, ...deep.result, offences }
  } finally {
    await mailstead.stop('worker', 'mta', 'api')
  }
}

async function drainShallow({ mailstead, sizes, receiver: { sink } }: MailsteadBench): Promise<{ result: Drain; offences: string[] }> {
  const { warmUp, shallow, shallowRounds } = sizes
  const offences: string[] = []
  let cpuMs = 0
  let spentMs = 0
  // The first round only warms up.
  for (let round = 0; round <= shallowRounds; round++) {
    const count = round === 0 ? warmUp : shallow
    const from = mailstead.reserve(count)
    const groups = mailstead.groups()
    await sink.begin({ from, count, isOwnLetter: true })
    signalMta(groups, 'SIGSTOP')
    await mailstead.post('bulk', from, count)
    const before = totalCpuMs(groups)
    signalMta(groups, 'SIGCONT')
    await arrive(sink, count)
    await sleep(SETTLE_MS)
    const { sample: _, ...ledger } = await sink.finish()
    offences.push(...countOffences({ count }, ledger))
    if (round === 0) continue
    cpuMs += totalCpuMs(groups) - before
    spentMs += ledger.lastAt - ledger.firstAt
  }
  const messages = shallow * shallowRounds
  const rate = ((shallow - 1) * shallowRounds * 1000) / spentMs
  return { result: { queued: shallow, messages, cpuMs: cpuMs / messages, rate }, offences }
}

async function drainDeep(bench: MailsteadBench): Promise<{ result: Omit<DepthResult, 'shallow' | 'offences'>; offences: string[] }> {
  const { mailstead, sizes: { deep, window, warmUp, shallow }, receiver: { sink, port } } = bench
  const from = mailstead.reserve(deep)
  await sink.begin({ from, count: deep, isOwnLetter: true })
  await mailstead.post('bulk', from, deep)
  bench.say(`  ${deep} are queued`)
  await mailstead.start(['mta'], { '*': port })
  const marks = await watchDrain(bench)
  const drain = (begin: number, end: number): Drain => between(at(marks, begin), at(marks, end), deep)
  const tenth = Math.floor(deep / 10)
  return {
    result: {
      deepFirst: drain(warmUp, warmUp + window),
      deepLast: drain(deep - shallow - window, deep - shallow),
      parts: Array.from({ length: 10 }, (_, index) => drain(index * tenth, (index + 1) * tenth)),
    },
    offences: countOffences({ count: deep }, await sink.finish()),
  }
}

/** Follows a drain until all is there, or nothing comes any more. */
async function watchDrain({ mailstead, sizes: { deep }, receiver: { sink } }: MailsteadBench): Promise<Mark[]> {
  const marks: Mark[] = []
  let isOver = false
  const end = arrive(sink, deep).finally(() => { isOver = true })
  while (!isOver) {
    marks.push({ done: await sink.progress(), at: monotonicMs(), cpuMs: totalCpuMs(mailstead.groups()) })
    await sleep(POLL_MS)
  }
  await end
  marks.push({ done: await sink.progress(), at: monotonicMs(), cpuMs: totalCpuMs(mailstead.groups()) })
  return marks
}

/** The state when so many were done, between the two marks around it. */
export function at(marks: readonly Mark[], done: number): Mark {
  const next = marks.findIndex((mark) => mark.done >= done)
  const [after, before] = [marks[next] ?? marks.at(-1), marks[next - 1]]
  if (after === undefined) throw new RangeError('the drain was not watched')
  if (before === undefined || next < 0) return after
  const part = (done - before.done) / (after.done - before.done)
  return { done, at: before.at + part * (after.at - before.at), cpuMs: before.cpuMs + part * (after.cpuMs - before.cpuMs) }
}

function between(begin: Mark, end: Mark, deep: number): Drain {
  const messages = end.done - begin.done
  return { queued: deep - begin.done, messages, cpuMs: (end.cpuMs - begin.cpuMs) / messages, rate: (messages * 1000) / (end.at - begin.at) }
}

function totalCpuMs(groups: Groups): number {
  return Object.values(readUsage(groups)).reduce((sum, { cpuMs }) => sum + cpuMs, 0)
}

function signalMta(groups: Groups, signal: 'SIGSTOP' | 'SIGCONT'): void {
  if (groups['mta'] !== undefined) process.kill(groups['mta'], signal)
}
