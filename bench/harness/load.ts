/**
 * The load generator for the REST API. `post` and `get` send the next request of
 * a connection when the response to the last one has arrived; `probe` and
 * `getAtRate` send at fixed times, however late the responses are. No request is
 * repeated: a response other than 2xx and 3xx is not counted as accepted and the
 * first one is returned; a lost connection fails the measurement.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type HttpResponse,
  getRequest,
  type HttpConnection,
  openConnection,
  sendRequest,
  type HttpTarget,
} from './http-connection.ts'
import { type MailMix, mailPool } from '#bench/mails/mail-mix.ts'
import { createTemplate, sendJson } from '#bench/mails/sample-mail.ts'
import { monotonicMs } from './clock.ts'
import { percentile } from './stats.ts'

/** The messages to send; they are numbered from `from` on. */
interface Batch {
  readonly target: HttpTarget
  readonly path: string
  readonly sender: string
  readonly site: string
  /** Default: plain text. */
  readonly mix?: MailMix
  readonly from: number
  readonly count: number
}

/** The GET requests to send; the paths are requested in turn. */
interface GetRequests {
  readonly target: HttpTarget
  readonly paths: readonly string[]
  readonly count: number
}

export interface PostResult {
  /** Before the first byte of the first request, after the last answer (`clock.ts`). */
  readonly startedAt: number
  readonly endedAt: number
  readonly accepted: number
  /** The first response that was neither 2xx nor 3xx, for the error message. */
  readonly firstError: string | null
  /** The body of the first accepted response. */
  readonly sample: string
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Times since the request was due: they include waiting for a free connection and for this process. */
export interface FixedRateResult {
  readonly accepted: number
  readonly firstError: string | null
  readonly p50Ms: number
  readonly p99Ms: number
  /** The part before the request was sent: this process was late, or no connection was free. */
  readonly startDelayP99Ms: number
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
  return { post, get, getAtRate, probe }
}

async function post(batch: Batch, connections: number): Promise<PostResult> {
  const opened = await openConnections(batch, Math.min(connections, batch.count))
  return sendSequentially(
    opened.map(({ http, fill }) => ({ http, requestOf: (index: number) => fill(batch.from + index) })),
    batch.count,
  )
}

async function get({ target, paths, count }: GetRequests, connections: number): Promise<PostResult> {
  const requestOf = requestsFor(target, paths)
  const opened = await Promise.all(
    Array.from({ length: Math.min(connections, count) }, () => openConnection(target.port)),
  )
  return sendSequentially(
    opened.map((http) => ({ http, requestOf })),
    count,
  )
}

function requestsFor(target: HttpTarget, paths: readonly string[]): (index: number) => Buffer {
  const requests = paths.map((path) => Buffer.from(getRequest(target, path)))
  return (index) => requests[index % requests.length] ?? Buffer.alloc(0)
}

/** Maximum of concurrent requests; further ones wait. */
const FIXED_RATE_CONNECTIONS = 200

/** Sends `count` requests, evenly, `perSecond` a second. */
async function getAtRate({ target, paths, count }: GetRequests, perSecond: number): Promise<FixedRateResult> {
  const requestOf = requestsFor(target, paths)
  const opened = await Promise.all(Array.from({ length: FIXED_RATE_CONNECTIONS }, () => openConnection(target.port)))
  const tally = { accepted: 0, firstError: null as string | null, waits: [] as number[], late: [] as number[] }
  const startedAt = monotonicMs()
  const dueAt = (index: number): number => startedAt + (index * 1000) / perSecond
  const free = [...opened]
  const pending: Promise<void>[] = []
  const isDue = (index: number): boolean => index < count && dueAt(index) <= monotonicMs()
  const sendOn = async (http: HttpConnection, index: number): Promise<void> => {
    tally.late.push(monotonicMs() - dueAt(index))
    const response = await http.request(requestOf(index))
    tally.waits.push(monotonicMs() - dueAt(index))
    free.push(http)
    if (isAccepted(response)) tally.accepted++
    else tally.firstError ??= describeError(response)
  }
  for (let next = 0; next < count; await sleep(1)) {
    while (isDue(next)) {
      // the one that was idle longest: a server closes connections that are not used
      const http = free.shift()
      if (http === undefined) break
      pending.push(sendOn(http, next++))
    }
  }
  await Promise.all(pending)
  opened.forEach((http) => http.close())
  const { accepted, firstError, waits, late } = tally
  return {
    accepted,
    firstError,
    p50Ms: percentile(waits, 50),
    p99Ms: percentile(waits, 99),
    startDelayP99Ms: percentile(late, 99),
  }
}

interface RequestSource {
  readonly http: HttpConnection
  readonly requestOf: (index: number) => Buffer
}

/** Sends one request after the other on each connection, `count` in total. */
async function sendSequentially(connections: readonly RequestSource[], count: number): Promise<PostResult> {
  const tally = { next: 0, accepted: 0, firstError: null as string | null, sample: '', waits: [] as number[] }
  const startedAt = monotonicMs()
  await Promise.all(
    connections.map(async ({ http, requestOf }) => {
      while (tally.next < count) {
        const sentAt = monotonicMs()
        const response = await http.request(requestOf(tally.next++))
        tally.waits.push(monotonicMs() - sentAt)
        if (isAccepted(response)) {
          if (tally.accepted++ === 0) tally.sample = response.text
        } else tally.firstError ??= describeError(response)
      }
    }),
  )
  const endedAt = monotonicMs()
  connections.forEach(({ http }) => http.close())
  const { accepted, firstError, sample, waits } = tally
  return {
    startedAt,
    endedAt,
    accepted,
    firstError,
    sample,
    p50Ms: percentile(waits, 50),
    p99Ms: percentile(waits, 99),
  }
}

/** Sends a message every `intervalMs`, on each connection in turn: a slow response does not delay the next message. */
async function probe(batch: Batch, intervalMs: number): Promise<Probe[]> {
  const opened = await openConnections(batch, Math.min(20, batch.count))
  const startedAt = monotonicMs()
  const probes: Promise<Probe>[] = []
  for (let index = 0; index < batch.count; index++) {
    await sleep(Math.max(0, startedAt + index * intervalMs - monotonicMs()))
    const connection = opened[index % opened.length]
    if (connection !== undefined) probes.push(sendProbe(connection, batch.from + index))
  }
  const done = await Promise.all(probes)
  opened.forEach(({ http }) => http.close())
  return done
}

interface MessageConnection {
  readonly http: HttpConnection
  readonly fill: (number: number) => Buffer
}

async function sendProbe({ http, fill }: MessageConnection, number: number): Promise<Probe> {
  const sentAt = monotonicMs()
  const response = await http.request(fill(number))
  return { number, sentAt, acceptedAt: isAccepted(response) ? monotonicMs() : 0 }
}

async function openConnections(batch: Batch, count: number): Promise<MessageConnection[]> {
  const { target, path, sender, site, mix = 'text' } = batch
  const templates = mailPool(mix).map((mail) => createTemplate(sendRequest(target, path, sendJson(sender, site, mail))))
  const fill = (number: number): Buffer => templates[number % templates.length]?.fill(number) ?? Buffer.alloc(0)
  return Promise.all(Array.from({ length: count }, async () => ({ http: await openConnection(target.port), fill })))
}

function isAccepted({ status }: HttpResponse): boolean {
  return status >= 200 && status < 400 // a tracked link responds with a redirect
}

function describeError({ status, text }: HttpResponse): string {
  return `${status} ${text.slice(0, 300)}`
}
