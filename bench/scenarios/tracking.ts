/**
 * Opens and clicks of tracked mail: open pixels and links of many mails, half each, are requested while the worker
 * classifies the hits and records events: first at the maximum rate of many connections, then evenly at the target
 * rate. A response is sent after its commit. Afterwards each requested mail must have its event; a mail without one is
 * a violation.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { readUsage } from '#bench/harness/cpu.ts'
import type { FixedRateResult, PostResult } from '#bench/harness/load.ts'
import { call } from '#bench/harness/api-call.ts'
import { messageIdOf, newId } from '#src/platform/id.ts'
import { createLinks } from '#src/tracking/links.ts'

/** Requests a second at which response times are measured against their target. */
export const TARGET_RATE = 3000

export interface TrackingRun {
  /** Requests a second at full load: each connection sends its next request after the last response. */
  readonly rate: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Results at the target rate. */
  readonly fixedRate: FixedRateResult
  /** CPU milliseconds a request, by process. */
  readonly cpuMs: Readonly<Record<string, number>>
}

export interface TrackingResult {
  readonly mails: number
  readonly runs: readonly TrackingRun[]
  /** From the last response until all events are recorded. */
  readonly recordedAfterMs: number
  readonly violations: readonly string[]
}

const CONNECTIONS = 40
const PAGE = 1000
const EVENTS_TIMEOUT_MS = 120_000
const LINK = 'https://shop.example/offers/autumn?utm_source=news&utm_campaign=autumn&id='

export async function runTracking(bench: MailsteadBench): Promise<TrackingResult> {
  const { mailstead, sizes } = bench
  try {
    await mailstead.start(['api', 'worker'], {})
    await mailstead.post('async', { from: mailstead.reserve(sizes.trackedMails), count: sizes.trackedMails })
    const ids = await listIds(bench, 'email.queued', sizes.trackedMails)
    bench.say(`  ${ids.size} mails to be opened`)
    const paths = [...ids].flatMap((messageId, i) => pathsOf(bench, messageId, i))
    // warm-up with ids that no mail has, so that every event comes from a measured request
    const unknownPaths = Array.from({ length: sizes.trackedMails }, () => newId()).flatMap((messageId, i) =>
      pathsOf(bench, messageId, i),
    )
    await sendRequests(bench, unknownPaths, sizes.trackedRequests)
    const runs: TrackingRun[] = []
    for (let round = 0; round < sizes.repeats; round++) runs.push(await measure(bench, paths, sizes.trackedRequests))
    const endedAt = Date.now()
    const missing = await waitForEvents(bench, ids)
    const violations = missing === 0 ? [] : [`tracking: ${missing} mails were opened but have no event`]
    return { mails: ids.size, runs, recordedAfterMs: Date.now() - endedAt, violations }
  } finally {
    await mailstead.stop('worker', 'api')
  }
}

function pathsOf({ mailstead }: MailsteadBench, messageId: string, number: number): string[] {
  const config = { bounceDomain: 'bounces.bench.example', hostedMailUrl: null }
  const links = createLinks({ encryption: mailstead.encryption, config })
  const { workspaceId } = mailstead
  const ref = { base: '', messageId, n: 0, workspaceId, senderId: workspaceId, contactId: null, audienceId: null }
  return [links.open(ref), links.click(ref, `${LINK}${number}`)]
}

async function measure(bench: MailsteadBench, paths: readonly string[], count: number): Promise<TrackingRun> {
  const { mailstead } = bench
  const before = readUsage(mailstead.groups())
  const result = await sendRequests(bench, paths, count)
  const after = readUsage(mailstead.groups())
  const cpuMs = Object.fromEntries(
    Object.entries(after).map(([name, usage]) => [name, (usage.cpuMs - (before[name]?.cpuMs ?? 0)) / count]),
  )
  const fixedRate = await mailstead.load.getAtRate({ target: targetOf(bench), paths, count }, TARGET_RATE)
  throwIfRefused(fixedRate, count)
  return {
    rate: (count / (result.endedAt - result.startedAt)) * 1000,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    fixedRate,
    cpuMs,
  }
}

async function sendRequests(bench: MailsteadBench, paths: readonly string[], count: number): Promise<PostResult> {
  const result = await bench.mailstead.load.get({ target: targetOf(bench), paths, count }, CONNECTIONS)
  throwIfRefused(result, count)
  return result
}

function targetOf({ mailstead }: MailsteadBench): { readonly port: number; readonly key: string } {
  return { port: Number(new URL(mailstead.admin.url).port), key: '' }
}

function throwIfRefused({ accepted, firstError }: Pick<PostResult, 'accepted' | 'firstError'>, count: number): void {
  if (accepted < count) throw new Error(`${count - accepted} of ${count} were refused: ${firstError}`)
}

interface EventsPage {
  readonly events: readonly { readonly email_id: string }[]
  readonly next: string
  readonly has_more: boolean
}

/** Ids of messages that have an event of this type; stops after `enough` of them. */
async function listIds({ mailstead: { admin } }: MailsteadBench, type: string, enough: number): Promise<Set<string>> {
  const ids = new Set<string>()
  for (let cursor = '', isMore = true; isMore && ids.size < enough;) {
    const page = await call<EventsPage>(
      admin,
      'GET',
      `/events?types=${type}&limit=${PAGE}${cursor === '' ? '' : `&after=${cursor}`}`,
      null,
    )
    for (const { email_id: id } of page.events) ids.add(messageIdOf(id) ?? '')
    cursor = page.next
    isMore = page.has_more
  }
  return ids
}

/** Waits until all messages have an event. Returns how many have none at the time-out. */
async function waitForEvents(bench: MailsteadBench, ids: ReadonlySet<string>): Promise<number> {
  for (const until = Date.now() + EVENTS_TIMEOUT_MS; ;) {
    const recorded = await listIds(bench, 'email.opened', ids.size)
    if (recorded.size >= ids.size || Date.now() > until) return ids.size - recorded.size
    await sleep(1000)
  }
}
