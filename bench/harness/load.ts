/**
 * The load on the REST API: so many connections, each sending its next message
 * (`post`) or question (`get`) when the last is answered, or one message
 * (`probe`) or question (`getAtPace`) at fixed moments whatever the answers do.
 * Nothing is sent twice: an answer that is neither 2xx nor 3xx is counted and
 * shown, and a lost connection fails the measurement.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, getRequest, type HttpLine, openLine, sendRequest, type Target } from './http-line.ts'
import { createStencil, letterJson } from './sample-message.ts'
import { monotonicMs } from './clock.ts'
import { percentile } from './stats.ts'

/** What to send; the messages carry the numbers from `from` on. */
interface Batch {
  readonly target: Target
  readonly path: string
  readonly sender: string
  readonly site: string
  readonly from: number
  readonly count: number
}

/** What to ask for; the paths take turns. */
interface Questions {
  readonly target: Target
  readonly paths: readonly string[]
  readonly count: number
}

export interface PostResult {
  /** Before the first byte of the first request, after the last answer (`clock.ts`). */
  readonly startedAt: number
  readonly endedAt: number
  readonly accepted: number
  /** The first answer that was not 2xx, for the person who reads the failure. */
  readonly refusal: string | null
  /** The text of the first answer that was 2xx. */
  readonly sample: string
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Times from the moment that a question was due: what waited for a connection, or for this process, is in them. */
export interface PacedResult {
  readonly accepted: number
  readonly refusal: string | null
  readonly p50Ms: number
  readonly p99Ms: number
  /** How much of it was before the question left: this process was late, or no connection was free. */
  readonly lateP99Ms: number
}

/** One timed message. */
export interface Probe {
  readonly number: number
  readonly sentAt: number
  /** 0 when it was refused. */
  readonly acceptedAt: number
}

/** The methods of the load's process (`remote.ts`). */
export function createLoad() {
  return { post, get, getAtPace, probe }
}

async function post(batch: Batch, connections: number): Promise<PostResult> {
  const lines = await openLines(batch, Math.min(connections, batch.count))
  return drive(
    lines.map(({ line, fill }) => ({ line, requestOf: (index: number) => fill(batch.from + index) })),
    batch.count,
  )
}

async function get({ target, paths, count }: Questions, connections: number): Promise<PostResult> {
  const requestOf = requestsOf(target, paths)
  const lines = await Promise.all(Array.from({ length: Math.min(connections, count) }, () => openLine(target.port)))
  return drive(
    lines.map((line) => ({ line, requestOf })),
    count,
  )
}

function requestsOf(target: Target, paths: readonly string[]): (index: number) => Buffer {
  const requests = paths.map((path) => Buffer.from(getRequest(target, path)))
  return (index) => requests[index % requests.length] ?? Buffer.alloc(0)
}

/** Most that are under way at once; more wait here. */
const PACED_CONNECTIONS = 200

/** So many questions a second, evenly, `count` in all. */
async function getAtPace({ target, paths, count }: Questions, perSecond: number): Promise<PacedResult> {
  const requestOf = requestsOf(target, paths)
  const lines = await Promise.all(Array.from({ length: PACED_CONNECTIONS }, () => openLine(target.port)))
  const tally = { accepted: 0, refusal: null as string | null, waits: [] as number[], late: [] as number[] }
  const startedAt = monotonicMs()
  const dueAt = (index: number): number => startedAt + (index * 1000) / perSecond
  const free = [...lines]
  const underWay: Promise<void>[] = []
  const isDue = (index: number): boolean => index < count && dueAt(index) <= monotonicMs()
  const ask = async (line: HttpLine, index: number): Promise<void> => {
    tally.late.push(monotonicMs() - dueAt(index))
    const answer = await line.request(requestOf(index))
    tally.waits.push(monotonicMs() - dueAt(index))
    free.push(line)
    if (isAccepted(answer)) tally.accepted++
    else tally.refusal ??= refusalOf(answer)
  }
  for (let next = 0; next < count; await sleep(1)) {
    while (isDue(next)) {
      // the one that rested longest: a server ends connections that are opened and not used
      const line = free.shift()
      if (line === undefined) break
      underWay.push(ask(line, next++))
    }
  }
  await Promise.all(underWay)
  lines.forEach((line) => line.close())
  const { accepted, refusal, waits, late } = tally
  return {
    accepted,
    refusal,
    p50Ms: percentile(waits, 50),
    p99Ms: percentile(waits, 99),
    lateP99Ms: percentile(late, 99),
  }
}

interface Driven {
  readonly line: HttpLine
  readonly requestOf: (index: number) => Buffer
}

/** One request after the other on each connection, `count` in all. */
async function drive(connections: readonly Driven[], count: number): Promise<PostResult> {
  const tally = { next: 0, accepted: 0, refusal: null as string | null, sample: '', waits: [] as number[] }
  const startedAt = monotonicMs()
  await Promise.all(
    connections.map(async ({ line, requestOf }) => {
      while (tally.next < count) {
        const sentAt = monotonicMs()
        const answer = await line.request(requestOf(tally.next++))
        tally.waits.push(monotonicMs() - sentAt)
        if (isAccepted(answer)) {
          if (tally.accepted++ === 0) tally.sample = answer.text
        } else tally.refusal ??= refusalOf(answer)
      }
    }),
  )
  const endedAt = monotonicMs()
  connections.forEach(({ line }) => line.close())
  const { accepted, refusal, sample, waits } = tally
  return { startedAt, endedAt, accepted, refusal, sample, p50Ms: percentile(waits, 50), p99Ms: percentile(waits, 99) }
}

/** Sends one message every `intervalMs`; the connections take turns, so a slow answer delays no later message. */
async function probe(batch: Batch, intervalMs: number): Promise<Probe[]> {
  const lines = await openLines(batch, Math.min(20, batch.count))
  const startedAt = monotonicMs()
  const probes: Promise<Probe>[] = []
  for (let index = 0; index < batch.count; index++) {
    await sleep(Math.max(0, startedAt + index * intervalMs - monotonicMs()))
    const connection = lines[index % lines.length]
    if (connection !== undefined) probes.push(sendProbe(connection, batch.from + index))
  }
  const done = await Promise.all(probes)
  lines.forEach(({ line }) => line.close())
  return done
}

interface Connection {
  readonly line: HttpLine
  readonly fill: (number: number) => Buffer
}

async function sendProbe({ line, fill }: Connection, number: number): Promise<Probe> {
  const sentAt = monotonicMs()
  const answer = await line.request(fill(number))
  return { number, sentAt, acceptedAt: isAccepted(answer) ? monotonicMs() : 0 }
}

async function openLines({ target, path, sender, site }: Batch, count: number): Promise<Connection[]> {
  const request = sendRequest(target, path, letterJson(sender, site))
  return Promise.all(
    Array.from({ length: count }, async () => {
      const stencil = createStencil(request)
      return { line: await openLine(target.port), fill: (number: number) => stencil.fill(number) }
    }),
  )
}

function isAccepted({ status }: Answer): boolean {
  return status >= 200 && status < 400 // a redirect is what a link is asked for
}

function refusalOf({ status, text }: Answer): string {
  return `${status} ${text.slice(0, 300)}`
}
