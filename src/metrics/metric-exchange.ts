/**
 * Collects the metrics of all processes: each process writes its metrics to Redis every few seconds, and the API reads
 * all of them for a scrape. So one address serves every metric of any number of machines, and no process but the API
 * needs a port. Processes of one role on one node are reported as one.
 *
 * Counters survive restarts: what a process counted is added to the totals of its role and node when it ends. A process
 * that is killed is added by a worker once it has been silent for a minute; its last few seconds are lost. A process
 * that was only silent for that long finds its entry gone, and reports what it has counted since. All steps are atomic,
 * so that a scrape counts nothing twice and no counter falls. If Redis loses its data, counters start at 0 again, as
 * Prometheus expects of a restart. While Redis is away, the API repeats the counters that it read last, and shows the
 * gauges of itself only (decision 068).
 */
import type { Context } from '#src/context.ts'
import { newId } from '#src/platform/id.ts'
import { isRedisReady, type Redis } from '#src/stores/redis.ts'
import type { ReportedSnapshot } from './exposition-format.ts'
import type { MetricSeries, MetricSnapshot } from './registry.ts'
import { combineSnapshots, countersOf, limitNames, subtractCounters } from './snapshot.ts'

export const PUBLISH_INTERVAL_MS = 5000
/** The gauges of a process that is silent for longer are not reported. */
const FRESH_MS = 4 * PUBLISH_INTERVAL_MS
/** A process that is silent for longer has ended. */
const ENDED_MS = 60_000
/** The totals of a role on a node without a process are deleted after this time. */
const TOTALS_MS = 24 * 3_600_000
const READ_TIMEOUT_MS = 1000
/** One hash slot, so that a Redis Cluster reads them together. */
const RUNNING = 'mailstead:{metrics}:running'
const TOTALS = 'mailstead:{metrics}:totals'
/** Metrics of the whole installation, reported by one worker. */
const QUEUE = 'mailstead:{metrics}:queue'
const QUEUE_TURN = 'mailstead:{metrics}:queue:turn'
const QUEUE_TTL_MS = 60_000

/** Whose metrics these are; the labels of their series. */
export interface MetricOwner {
  readonly role: string
  readonly node: string
}

interface Report extends MetricOwner {
  /** Epoch ms. */
  readonly at: number
  readonly snapshot: MetricSnapshot
}

/** One clock for all: a process whose clock is ahead would end the reports of the others. */
type ExchangeDeps = Pick<Context, 'redis' | 'clock'>

/** Writes the report of a process; 0 if the process had one and it is gone. */
const PUBLISH = `
if ARGV[3] == '1' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1`

/** Replaces a report by totals that include it, if neither has changed. */
const END = `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
if (redis.call('HGET', KEYS[2], ARGV[3]) or '') ~= ARGV[4] then return 0 end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[5])
return redis.call('HDEL', KEYS[1], ARGV[1])`

const DELETE_TOTALS = `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])`

/** The reports of one process. */
export interface MetricPublisher {
  /** Lost if Redis is unavailable; the next one includes it. */
  publish(snapshot: MetricSnapshot): Promise<void>
  /** Publishes for the last time, and adds it to the totals. */
  end(snapshot: MetricSnapshot): Promise<void>
  /** The metrics of all processes, with these of this process. */
  read(snapshot: MetricSnapshot): Promise<ReportedSnapshot[]>
}

export function createMetricPublisher(deps: ExchangeDeps, owner: MetricOwner): MetricPublisher {
  const { redis, clock } = deps
  const id = newId()
  /** What is in the totals already, since this process was taken for dead. */
  let base: MetricSnapshot = {}
  let written: MetricSnapshot | null = null
  let last: Promise<unknown> = Promise.resolve()
  let latest: MetricReading = EMPTY

  const reportOf = (snapshot: MetricSnapshot): Report => ({
    ...owner,
    at: clock.now(),
    snapshot: subtractCounters(snapshot, base),
  })

  async function write(snapshot: MetricSnapshot): Promise<void> {
    if (!isRedisReady(redis)) return
    const before = written
    // without a reply it is unknown whether it was written: better to lose some counts than to count them twice
    written = snapshot
    if (await writeReport(redis, id, reportOf(snapshot), before !== null)) return
    base = before ?? {}
    await writeReport(redis, id, reportOf(snapshot), false)
  }

  /** One at a time: a second write must know what became of the first. */
  function publish(snapshot: MetricSnapshot): Promise<void> {
    const next = last.then(() => write(snapshot))
    last = next.catch(() => undefined)
    return next
  }

  return {
    publish,
    end: async (snapshot) => {
      await publish(snapshot)
      if (isRedisReady(redis)) await endProcess(deps, id)
    },
    read: async (snapshot) => {
      const late = Promise.withResolvers<null>()
      const timer = setTimeout(() => late.resolve(null), READ_TIMEOUT_MS)
      const read = publish(snapshot).then(() => readAll(redis))
      const reading = await Promise.race([read.catch(() => null), late.promise])
      clearTimeout(timer)
      latest = reading ?? { ...latest, queue: null, running: withoutGauges(latest.running) }
      latest = { ...latest, running: new Map([...latest.running, [id, reportOf(snapshot)]]) }
      return combineReports(latest, clock.now())
    },
  }
}

async function writeReport(redis: Redis, id: string, report: Report, isKnown: boolean): Promise<boolean> {
  return (await redis.eval(PUBLISH, 1, RUNNING, id, JSON.stringify(report), isKnown ? '1' : '0')) === 1
}

/** The metrics of all processes. */
export async function readMetrics({ redis, clock }: ExchangeDeps): Promise<ReportedSnapshot[]> {
  const reading = await readAll(redis)
  return reading === null ? [] : combineReports(reading, clock.now())
}

interface MetricReading {
  readonly running: ReadonlyMap<string, Report>
  readonly totals: ReadonlyMap<string, Report>
  readonly queue: MetricSnapshot | null
}

const EMPTY: MetricReading = { running: new Map(), totals: new Map(), queue: null }

interface StoredTexts {
  readonly running: Readonly<Record<string, string>>
  readonly totals: Readonly<Record<string, string>>
  readonly queue: string | null
}

/** Null while Redis is away. */
async function readAll(redis: Redis): Promise<MetricReading | null> {
  const texts = await readTexts(redis)
  if (texts === null) return null
  return {
    running: parseReports(texts.running),
    totals: parseReports(texts.totals),
    queue: snapshotOf(parseObject(texts.queue)),
  }
}

/** In one transaction: a process that ends meanwhile is in either of them, not in both. */
async function readTexts(redis: Redis): Promise<StoredTexts | null> {
  if (!isRedisReady(redis)) return null
  const replies = (await redis.multi().hgetall(RUNNING).hgetall(TOTALS).get(QUEUE).exec()) ?? []
  const [running, totals, queue] = replies.map(([, reply]) => reply)
  return {
    running: (running ?? {}) as Record<string, string>,
    totals: (totals ?? {}) as Record<string, string>,
    queue: typeof queue === 'string' ? queue : null,
  }
}

function parseReports(texts: Readonly<Record<string, string>>): Map<string, Report> {
  const reports = new Map<string, Report>()
  for (const [key, text] of Object.entries(texts)) {
    const report = parseReport(text)
    if (report !== null) reports.set(key, report)
  }
  return reports
}

/** Null for what is no report. */
function parseReport(text: string | null): Report | null {
  const read = parseObject(text)
  const snapshot = isObject(read?.['snapshot']) ? snapshotOf(read['snapshot']) : null
  if (read === null || snapshot === null) return null
  const { role, node, at } = read
  if (typeof role !== 'string' || typeof node !== 'string' || typeof at !== 'number') return null
  return { role, node, at, snapshot }
}

/** Series of another version that this one cannot read are left out. */
function snapshotOf(read: Readonly<Record<string, unknown>> | null): MetricSnapshot | null {
  if (read === null) return null
  const lists = Object.entries(read).filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]))
  return Object.fromEntries(lists.map(([name, series]) => [name, series.filter(isSeries)]))
}

function isSeries(value: unknown): value is MetricSeries {
  if (!isObject(value)) return false
  const { labels, value: sum, counts = [] } = value
  const isOf = (list: unknown, type: string): boolean => Array.isArray(list) && list.every((one) => typeof one === type)
  return isOf(labels, 'string') && typeof sum === 'number' && isOf(counts, 'number')
}

function parseObject(text: string | null): Readonly<Record<string, unknown>> | null {
  try {
    const read: unknown = text === null ? null : JSON.parse(text)
    return isObject(read) ? read : null
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function withoutGauges(reports: ReadonlyMap<string, Report>): Map<string, Report> {
  return new Map([...reports].map(([id, report]) => [id, { ...report, at: 0 }]))
}

/** One snapshot for each role on each node; the metrics of the installation first. */
function combineReports({ running, totals, queue }: MetricReading, now: number): ReportedSnapshot[] {
  const fresh = [...running.values()].map((report) =>
    report.at < now - FRESH_MS ? { ...report, snapshot: countersOf(report.snapshot) } : report,
  )
  const byOwner = Map.groupBy([...totals.values(), ...fresh], keyOf)
  const installation: ReportedSnapshot[] = queue === null ? [] : [{ owner: null, snapshot: queue }]
  const combined = [...byOwner.values()].flatMap((reports): ReportedSnapshot[] => {
    const [first] = reports
    if (first === undefined) return []
    const { role, node } = first
    return [{ owner: { role, node }, snapshot: combineSnapshots(reports.map(({ snapshot }) => snapshot)) }]
  })
  return [...installation, ...combined]
}

function keyOf({ role, node }: MetricOwner): string {
  return JSON.stringify([role, node])
}

const END_ATTEMPTS = 5

/** Adds the report of a process to the totals. Another process that ends at the same time may come first. */
async function endProcess(deps: ExchangeDeps, id: string): Promise<void> {
  for (let i = 0; i < END_ATTEMPTS; i++) {
    const texts = await readTexts(deps.redis)
    if (texts?.running[id] === undefined || (await addToTotals(deps, texts, id))) return
  }
}

async function addToTotals({ redis, clock }: ExchangeDeps, texts: StoredTexts, id: string): Promise<boolean> {
  const text = texts.running[id] ?? ''
  const report = parseReport(text)
  if (report === null) return (await redis.hdel(RUNNING, id)) === 1
  const key = keyOf(report)
  const before = parseReport(texts.totals[key] ?? null)
  const { role, node } = report
  // the sites of this process stay, rather than those of earlier ones
  const snapshot = limitNames(combineSnapshots([countersOf(report.snapshot), before?.snapshot ?? {}]))
  const totals: Report = { role, node, at: clock.now(), snapshot }
  const args = [id, text, key, texts.totals[key] ?? '', JSON.stringify(totals)]
  return (await redis.eval(END, 2, RUNNING, TOTALS, ...args)) === 1
}

/** Adds processes that were killed to the totals, and deletes invalid data and totals that nothing adds to any more. */
export async function endSilentProcesses(deps: ExchangeDeps): Promise<void> {
  const { redis, clock } = deps
  const texts = await readTexts(redis)
  if (texts === null) return
  const now = clock.now()
  const running = parseReports(texts.running)
  for (const id of Object.keys(texts.running))
    if ((running.get(id)?.at ?? 0) < now - ENDED_MS) await endProcess(deps, id)
  const owners = new Set([...running.values()].map(keyOf))
  for (const [key, text] of Object.entries(texts.totals)) {
    const totals = parseReport(text)
    const isOld = !owners.has(key) && (totals?.at ?? 0) < now - TOTALS_MS
    if (totals === null || isOld) await redis.eval(DELETE_TOTALS, 1, TOTALS, key, text)
  }
}

/** True for one caller in each `everyMs`, across all workers. */
export async function claimQueueReport(redis: Redis, everyMs: number): Promise<boolean> {
  return isRedisReady(redis) && (await redis.set(QUEUE_TURN, '1', 'PX', everyMs, 'NX')) === 'OK'
}

export async function publishQueueMetrics(redis: Redis, snapshot: MetricSnapshot): Promise<void> {
  await redis.set(QUEUE, JSON.stringify(snapshot), 'PX', QUEUE_TTL_MS)
}
