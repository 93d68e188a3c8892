/**
 * Readers of tracked mail: open pixels and links of many mails, half and half, asked for over many connections while the worker judges and
 * tells what came. An answer comes after its commit. Afterwards each mail that was asked for must have its event: one that has none was
 * lost behind its answer.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MailsteadBench } from '#bench/bench.ts'
import { readUsage } from '#bench/cpu.ts'
import type { PostResult } from '#bench/load.ts'
import { call } from '#bench/rest.ts'
import { messageIdOf } from '#src/id.ts'
import { createLinks } from '#src/tracking/links.ts'

export interface TrackingRun {
  readonly rate: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU milliseconds a request, by process. */
  readonly cpuMs: Readonly<Record<string, number>>
}

export interface TrackingResult {
  readonly mails: number
  readonly runs: readonly TrackingRun[]
  /** Until the last of it was told as an event. */
  readonly toldAfterMs: number
  readonly offences: readonly string[]
}

/** Each with one request at a time: with all of them busy an answer takes as long as a round of all others. */
const CONNECTIONS = 40
const PAGE = 1000
const TELL_MS = 120_000
const LINK = 'https://shop.example/offers/autumn?utm_source=news&utm_campaign=autumn&id='

export async function runTracking(bench: MailsteadBench): Promise<TrackingResult> {
  const { mailstead, sizes } = bench
  try {
    await mailstead.start(['api', 'worker'], {})
    await mailstead.post('async', mailstead.reserve(sizes.trackedMails), sizes.trackedMails)
    const ids = await listIds(bench, 'email.queued', sizes.trackedMails)
    bench.say(`  ${ids.size} mails to be opened`)
    const paths = [...ids].flatMap((messageId, i) => pathsOf(bench, messageId, i))
    const runs: TrackingRun[] = []
    for (let round = 0; round < sizes.repeats; round++) runs.push(await measure(bench, paths, sizes.trackedRequests))
    const endedAt = Date.now()
    const lost = await waitForEvents(bench, ids)
    const offences = lost === 0 ? [] : [`tracking: ${lost} mails were opened and have no event`]
    return { mails: ids.size, runs, toldAfterMs: Date.now() - endedAt, offences }
  } finally {
    await mailstead.stop('worker', 'api')
  }
}

function pathsOf({ mailstead }: MailsteadBench, messageId: string, number: number): string[] {
  const links = createLinks({ vault: mailstead.vault, config: { bounceDomain: 'bounces.bench.example' } })
  const ref = { base: '', messageId, n: 0, workspaceId: messageId, contactId: null, audienceId: null }
  return [links.open(ref), links.click(ref, `${LINK}${number}`)]
}

async function measure({ mailstead }: MailsteadBench, paths: readonly string[], count: number): Promise<TrackingRun> {
  const port = Number(new URL(mailstead.admin.url).port)
  const before = readUsage(mailstead.groups())
  const result: PostResult = await mailstead.load.get({ target: { port, key: '' }, paths, count }, CONNECTIONS)
  if (result.accepted < count) throw new Error(`${count - result.accepted} of ${count} were refused: ${result.refusal}`)
  const after = readUsage(mailstead.groups())
  const cpuMs = Object.fromEntries(Object.entries(after).map(([name, usage]) => [name, (usage.cpuMs - (before[name]?.cpuMs ?? 0)) / count]))
  return { rate: count / (result.endedAt - result.startedAt) * 1000, p50Ms: result.p50Ms, p99Ms: result.p99Ms, cpuMs }
}

interface EventsPage { readonly events: readonly { readonly email_id: string }[]; readonly next: string; readonly has_more: boolean }

/** The messages that have an event of this type, at least `enough` of them. */
async function listIds({ mailstead: { admin } }: MailsteadBench, type: string, enough: number): Promise<Set<string>> {
  const ids = new Set<string>()
  for (let cursor = '', isMore = true; isMore && ids.size < enough;) {
    const page = await call<EventsPage>(admin, 'GET', `/events?types=${type}&limit=${PAGE}${cursor === '' ? '' : `&after=${cursor}`}`, null)
    for (const { email_id: id } of page.events) ids.add(messageIdOf(id) ?? '')
    cursor = page.next
    isMore = page.has_more
  }
  return ids
}

/** How many have no event in the end. */
async function waitForEvents(bench: MailsteadBench, ids: ReadonlySet<string>): Promise<number> {
  for (const until = Date.now() + TELL_MS; ;) {
    const told = await listIds(bench, 'email.opened', ids.size)
    if (told.size >= ids.size || Date.now() > until) return ids.size - told.size
    await sleep(1000)
  }
}
