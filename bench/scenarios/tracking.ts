/**
 * Readers of tracked mail: open pixels and links of many mails, half and half, asked for while the worker judges and tells what came: as many as
 * go over many connections, and so many a second as are promised, evenly, whatever the answers do. An answer comes after its commit. Afterwards each mail that was asked for must have its event: one that has none was
 * lost behind its answer.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { readUsage } from '#bench/harness/cpu.ts'
import type { FixedRateResult, PostResult } from '#bench/harness/load.ts'
import { call } from '#bench/harness/api-call.ts'
import { messageIdOf, newId } from '#src/platform/id.ts'
import { createLinks } from '#src/tracking/links.ts'

/** The rate that is promised, and at which the times of answers are judged. */
export const TARGET_RATE = 3000

export interface TrackingRun {
  /** As many as go over all connections, each with one request at a time: an answer takes as long as a round of all others. */
  readonly rate: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** At the promised rate. */
  readonly fixedRate: FixedRateResult
  /** CPU milliseconds a request, by process. */
  readonly cpuMs: Readonly<Record<string, number>>
}

export interface TrackingResult {
  readonly mails: number
  readonly runs: readonly TrackingRun[]
  /** Until the last of it was told as an event. */
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
    await mailstead.post('async', mailstead.reserve(sizes.trackedMails), sizes.trackedMails)
    const ids = await listIds(bench, 'email.queued', sizes.trackedMails)
    bench.say(`  ${ids.size} mails to be opened`)
    const paths = [...ids].flatMap((messageId, i) => pathsOf(bench, messageId, i))
    // code compiled; of mails that nobody has, so that each event is of a measured request
    const unknownPaths = Array.from({ length: sizes.trackedMails }, () => newId()).flatMap((messageId, i) =>
      pathsOf(bench, messageId, i),
    )
    await sendRequests(bench, unknownPaths, sizes.trackedRequests)
    const runs: TrackingRun[] = []
    for (let round = 0; round < sizes.repeats; round++) runs.push(await measure(bench, paths, sizes.trackedRequests))
    const endedAt = Date.now()
    const missing = await waitForEvents(bench, ids)
    const violations = missing === 0 ? [] : [`tracking: ${missing} mails were opened and have no event`]
    return { mails: ids.size, runs, recordedAfterMs: Date.now() - endedAt, violations }
  } finally {
    await mailstead.stop('worker', 'api')
  }
}

function pathsOf({ mailstead }: MailsteadBench, messageId: string, number: number): string[] {
  const links = createLinks({ encryption: mailstead.encryption, config: { bounceDomain: 'bounces.bench.example' } })
  const ref = { base: '', messageId, n: 0, workspaceId: messageId, contactId: null, audienceId: null }
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

/** The messages that have an event of this type, at least `enough` of them. */
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

/** How many have no event in the end. */
async function waitForEvents(bench: MailsteadBench, ids: ReadonlySet<string>): Promise<number> {
  for (const until = Date.now() + EVENTS_TIMEOUT_MS; ;) {
    const recorded = await listIds(bench, 'email.opened', ids.size)
    if (recorded.size >= ids.size || Date.now() > until) return ids.size - recorded.size
    await sleep(1000)
  }
}
