/**
 * Streams of changes: thousands of clients at one api process, a hundred in each workspace. One change after the other
 * is made over HTTP, a message or a template, in one workspace after the other. Measured is the time from the start of
 * its request to each client of the workspace, so the commit is included. The clients run in this process and share
 * its CPU: what they cost counts against Mailstead.
 */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '#bin/supervisor/user-error.ts'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { memoryMb, readUsage } from '#bench/harness/cpu.ts'
import { SENDER } from '#bench/harness/dkim.ts'
import { sendPath, type Mailstead } from '#bench/harness/mailstead.ts'
import { waitUntil } from '#bench/harness/wait.ts'
import { summarise, type Latencies } from './latency.ts'

export interface StreamsResult {
  readonly streams: number
  readonly messages: Latencies
  readonly objects: Latencies
  /** Of the api, before and after the streams were opened. */
  readonly idleMb: number
  readonly openMb: number
  /** By process, with all streams open and no change. */
  readonly cpuMsPerSecond: Readonly<Record<string, number>>
}

const PER_WORKSPACE = 100
/** Streams that are opened at the same time. */
const OPENED_AT_ONCE = 50
const SETTLE_MS = 5000
const QUIET_MS = 10_000
const INTERVAL_MS = 100

/** The arrivals of one change at the clients of its workspace. */
interface TimedChange {
  readonly workspace: StreamedWorkspace
  readonly startedAt: number
  readonly arrivedAt: readonly number[]
}

interface StreamedWorkspace {
  readonly key: string
  /** By the id of what changed; it is known with the response, which may come after the event. */
  readonly arrivals: Map<string, number[]>
  readonly streams: number
  /** Those that are ready. */
  opened: number
}

export async function runStreams(bench: MailsteadBench): Promise<StreamsResult> {
  const { mailstead, sizes, receiver } = bench
  const workspaces: StreamedWorkspace[] = []
  const closed = new AbortController()
  try {
    await mailstead.start(['api'], { '*': receiver.port })
    const others = await mailstead.createWorkspaces(Math.ceil(sizes.streams / PER_WORKSPACE) - 1)
    for (const key of [mailstead.admin.key, ...others]) {
      const left = sizes.streams - workspaces.length * PER_WORKSPACE
      workspaces.push({ key, arrivals: new Map(), streams: Math.min(left, PER_WORKSPACE), opened: 0 })
    }
    await makeChanges(mailstead, workspaces, 20) // compiles the code of the requests
    await sleep(SETTLE_MS)
    const idleMb = apiMemory(mailstead)
    for (const [number, workspace] of workspaces.entries())
      await openStreams(mailstead.admin.url, workspace, { address: `127.0.1.${number + 1}`, closed: closed.signal })
    bench.say(`  ${sizes.streams} streams are open`)
    await makeChanges(mailstead, workspaces, 20)
    await sleep(SETTLE_MS)
    const cpuMsPerSecond = await quietCpu(mailstead)
    const changes = await makeChanges(mailstead, workspaces, sizes.streamChanges)
    const openMb = apiMemory(mailstead)
    const [messages, objects] = [latenciesOf(changes.messages), latenciesOf(changes.objects)]
    return { streams: sizes.streams, messages, objects, idleMb, openMb, cpuMsPerSecond }
  } finally {
    closed.abort()
    await mailstead.stop('api')
  }
}

function apiMemory(mailstead: Mailstead): number {
  return memoryMb(mailstead.groups()['api'] ?? 0)
}

async function quietCpu(mailstead: Mailstead): Promise<Record<string, number>> {
  const groups = mailstead.groups()
  const before = readUsage(groups)
  await sleep(QUIET_MS)
  const after = readUsage(groups)
  return Object.fromEntries(
    Object.keys(groups).map((name) => {
      const cpuMs = (after[name]?.cpuMs ?? 0) - (before[name]?.cpuMs ?? 0)
      return [name, cpuMs / (QUIET_MS / 1000)]
    }),
  )
}

interface StreamSource {
  /** Of the clients: the api limits streams by address. */
  readonly address: string
  readonly closed: AbortSignal
}

async function openStreams(url: string, workspace: StreamedWorkspace, source: StreamSource): Promise<void> {
  for (let left = workspace.streams; left > 0; left -= OPENED_AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(left, OPENED_AT_ONCE) }, () => openOne(url, workspace, source)))
}

/** Resolves when the stream is ready. */
function openOne(url: string, workspace: StreamedWorkspace, { address, closed }: StreamSource): Promise<void> {
  const { key, arrivals } = workspace
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` }
    const asked = request(`${url}/api/v1/public/changes`, {
      headers,
      agent: false,
      localAddress: address,
      signal: closed,
    })
    asked.once('error', reject)
    asked.once('response', (response) => {
      if (response.statusCode !== 200) reject(UserError.of(`a stream was refused with ${response.statusCode}`))
      response.on('error', () => undefined)
      response.setEncoding('latin1').on('data', (chunk: string) => {
        if (chunk.includes('event: ready')) resolve(void workspace.opened++)
        for (const [, id = ''] of chunk.matchAll(/"id":"([^"]+)"/g)) {
          const times = arrivals.get(id) ?? []
          arrivals.set(id, times)
          times.push(performance.now())
        }
      })
    })
    asked.end()
  })
}

type Changes = Readonly<Record<'messages' | 'objects', readonly TimedChange[]>>

/** Makes changes, one per interval, and waits until all clients have them. */
async function makeChanges(
  mailstead: Mailstead,
  workspaces: readonly StreamedWorkspace[],
  count: number,
): Promise<Changes> {
  const changes = { messages: [] as TimedChange[], objects: [] as TimedChange[] }
  for (let i = 0; i < count; i++) {
    const type = i % 2 === 0 ? 'messages' : 'objects'
    const workspace = workspaces[type === 'messages' ? 0 : i % workspaces.length]
    if (workspace === undefined) break
    const startedAt = performance.now()
    const id = await (type === 'messages' ? sendMessage(mailstead) : saveTemplate(mailstead, workspace.key))
    const arrivedAt = workspace.arrivals.get(id) ?? []
    workspace.arrivals.set(id, arrivedAt)
    changes[type].push({ workspace, startedAt, arrivedAt })
    await sleep(Math.max(0, startedAt + INTERVAL_MS - performance.now()))
  }
  const all = [...changes.messages, ...changes.objects]
  await waitUntil('the arrival of all changes at all streams', () =>
    Promise.resolve(all.every(({ arrivedAt, workspace: { opened } }) => arrivedAt.length >= opened)),
  )
  return changes
}

async function sendMessage({ admin, key }: Mailstead): Promise<string> {
  const body = { from: SENDER, to: 'streams@sink.bench.example', subject: 'streams', text: 'streams' }
  return post<{ email_id: string }>(`${admin.url}${sendPath('bulk')}`, key, body).then(({ email_id: id }) => id)
}

async function saveTemplate({ admin }: Mailstead, key: string): Promise<string> {
  const body = { name: 'streams', subject: 'streams', body: 'streams' }
  const saved = await post<{ data: { id: string } }>(`${admin.url}/api/v1/templates/save`, key, body)
  return saved.data.id
}

async function post<T>(url: string, key: string, body: object): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw UserError.of(`${url} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as T
}

/** Every arrival counts: a change that reached 99 of 100 clients in time is not fast. */
function latenciesOf(changes: readonly TimedChange[]): Latencies {
  return summarise(changes.flatMap(({ startedAt, arrivedAt }) => arrivedAt.map((at) => at - startedAt)))
}
