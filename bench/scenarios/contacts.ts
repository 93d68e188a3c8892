/**
 * Pages of a large audience over HTTP: from the start, the middle and the end, in
 * each sort order and both directions, for all members and for subscribed ones.
 * An import creates the audience; the worker runs its maintenance meanwhile. Each
 * page is requested twice, and the second time counts (warm cache).
 */
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { monotonicMs } from '#bench/harness/clock.ts'
import type { AdminAccess } from '#bench/harness/mailstead.ts'
import { call } from '#bench/harness/api-call.ts'
import { percentile } from '#bench/harness/stats.ts'
import { waitForImport, generateCsv } from './import.ts'

export interface SortTimes {
  /** For example `email desc, subscribed`. */
  readonly sort: string
  readonly limit: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

export interface ContactsResult {
  readonly members: number
  readonly sorts: readonly SortTimes[]
  /** The highest p99 of all sort orders. */
  readonly worstP99Ms: number
}

interface Listing {
  readonly audienceId: string
  readonly sortBy: string
  readonly sortDir: string
  readonly subscribedOnly: boolean
  readonly limit: number
}

const SORTS = ['createdAt', 'email', 'firstName', 'lastName', 'deliverabilityScore']
const LIMITS = [50, 1000]
/** Time for the worker to build the pagination index of the audience. */
const SETTLE_MS = 10_000

export async function runContacts(bench: MailsteadBench): Promise<ContactsResult> {
  const { mailstead, sizes, receiver } = bench
  try {
    await mailstead.start(['api', 'worker'], { '*': receiver.port })
    const { admin } = mailstead
    const audienceId = await fill(admin, sizes.members)
    bench.say(`  ${sizes.members} contacts are in the audience`)
    await sleep(SETTLE_MS)
    const orders: SortTimes[] = []
    for (const listing of listings(audienceId)) orders.push(await timePages(admin, listing, sizes))
    return { members: sizes.members, sorts: orders, worstP99Ms: Math.max(...orders.map(({ p99Ms }) => p99Ms)) }
  } finally {
    await mailstead.stop('worker', 'api')
  }
}

/** Returns the id of a new audience with `members` members. */
async function fill(admin: AdminAccess, members: number): Promise<string> {
  const audience = await call<{ id: string }>(
    admin,
    'POST',
    '/audiences/add-audience',
    JSON.stringify({ name: 'pages' }),
  )
  const file = Readable.from(generateCsv(members))
  const { id } = await call<{ id: string }>(admin, 'POST', `/contacts/import?audienceId=${audience.id}`, file)
  await waitForImport(admin, id)
  return audience.id
}

function listings(audienceId: string): Listing[] {
  return SORTS.flatMap((sortBy) =>
    ['asc', 'desc'].flatMap((sortDir) =>
      [false, true].flatMap((subscribedOnly) =>
        LIMITS.map((limit) => ({ audienceId, sortBy, sortDir, subscribedOnly, limit })),
      ),
    ),
  )
}

async function timePages(admin: AdminAccess, listing: Listing, sizes: MailsteadBench['sizes']): Promise<SortTimes> {
  const times: number[] = []
  const last = Math.max(1, Math.ceil(sizes.members / listing.limit))
  for (let i = 0; i < sizes.pages; i++) {
    const page = 1 + Math.round((i * (last - 1)) / Math.max(1, sizes.pages - 1))
    await timePage(admin, listing, page)
    times.push(await timePage(admin, listing, page))
  }
  const sort = `${listing.sortBy} ${listing.sortDir}${listing.subscribedOnly ? ', subscribed' : ''}`
  const [p50Ms, p99Ms, maxMs] = [percentile(times, 50), percentile(times, 99), percentile(times, 100)]
  return { sort, limit: listing.limit, p50Ms, p99Ms, maxMs }
}

async function timePage(admin: AdminAccess, listing: Listing, page: number): Promise<number> {
  const query = Object.entries({ ...listing, page })
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
  const startedAt = monotonicMs()
  await call(admin, 'GET', `/contacts/get-contacts?${query}`, null)
  return monotonicMs() - startedAt
}
