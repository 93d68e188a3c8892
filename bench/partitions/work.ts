/** The work that is measured: messages from the accept to the result, and the reads that clients repeat. */
import { claimRecipients } from '#src/messages/claim.ts'
import { readFeed } from '#src/events/feed.ts'
import { FEED_START } from '#src/events/cursor.ts'
import { storeMessages } from '#src/messages/message-store.ts'
import { readWaiting } from '#src/messages/open-recipients.ts'
import { searchMessages, type SearchFilter } from '#src/messages/search.ts'
import type { Submission } from '#src/messages/submission.ts'
import { applyTransitions } from '#src/messages/transition.ts'
import { idAt, newId } from '#src/platform/id.ts'
import { refreshOpenWeeks } from '#src/queue/open-weeks.ts'
import type { Db } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { percentile } from '#bench/harness/stats.ts'

export interface WorkOptions {
  readonly db: Db
  readonly workspaceId: string
  readonly sends: number
  /** CPU time of PostgreSQL so far. */
  readonly cpuMs: () => number
  /** Anonymous memory of the largest backend now. */
  readonly memoryMb: () => number
}

export interface WorkFigures {
  readonly 'CPU of PostgreSQL per message, ms': number
  readonly 'feed poll at its end, ms': number
  readonly 'sweep of waiting recipients, ms': number
  readonly 'search: newest messages, ms': number
  readonly 'search: a recipient, ms': number
  readonly 'search: a subject, ms': number
  readonly 'search: nothing, ms': number
  readonly 'largest backend before the searches, MB': number
  readonly 'largest backend after the searches, MB': number
}

const BATCH = 20
const WARM_UP = 500
const POLLS = 200
const HOUR_MS = 3_600_000
const SEARCHES = 10
const ANY: SearchFilter = {
  recipient: null,
  sender: null,
  subject: null,
  tag: null,
  status: null,
  tier: null,
  campaignId: null,
  after: null,
  before: null,
}

export async function measureWork({ db, workspaceId, sends, cpuMs, memoryMb }: WorkOptions): Promise<WorkFigures> {
  await refreshOpenWeeks(db, Date.now())
  const lease = await openLease(db)
  await deliver(db, { workspaceId, lease, count: WARM_UP })
  const before = cpuMs()
  await deliver(db, { workspaceId, lease, count: sends })
  const perMessage = (cpuMs() - before) / sends
  const end = await readToEnd(db, workspaceId)
  const search = (filter: Partial<SearchFilter>): Promise<number> =>
    timed(SEARCHES, () =>
      searchMessages(db, { workspaceId, filter: { ...ANY, ...filter }, cursor: null, skip: 0, limit: 100 }),
    )
  const feedMs = await timed(POLLS, () => readFeed(db, { ...feedOf(workspaceId), after: end }))
  const sweepMs = await timed(POLLS, () => readWaiting(db, 'normal', new Date(), { cursor: null, limit: 100 }))
  const sendingMb = memoryMb()
  return {
    'CPU of PostgreSQL per message, ms': perMessage,
    'feed poll at its end, ms': feedMs,
    'sweep of waiting recipients, ms': sweepMs,
    'search: newest messages, ms': await search({}),
    'search: a recipient, ms': await search({ recipient: 'r77@d77.example' }),
    'search: a subject, ms': await search({ subject: 'order 123456' }),
    'search: nothing, ms': await search({ recipient: 'nobody@nowhere.example' }),
    'largest backend before the searches, MB': sendingMb,
    'largest backend after the searches, MB': memoryMb(),
  }
}

async function openLease(db: Db): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    sql`
      INSERT INTO leases (version, machine, pid, expires_at)
      VALUES ('0.2.0', 'bench', 1, now() + interval '1 day')
      RETURNING id`,
  )
  return rows[0]?.id ?? 0
}

/** Accepts, claims and delivers messages, in batches. */
async function deliver(
  db: Db,
  { workspaceId, lease, count }: { readonly workspaceId: string; readonly lease: number; readonly count: number },
): Promise<void> {
  for (let done = 0; done < count; done += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, i) => submissionOf(workspaceId, done + i))
    await storeMessages(db, batch)
    const refs = batch.map(({ id: messageId }) => ({ messageId, n: 0 }))
    await claimRecipients(db, lease, refs, new Date())
    await applyTransitions(
      db,
      refs.map(({ messageId, n }) => ({
        messageId,
        n,
        move: 'deliver' as const,
        lease,
        reason: null,
        dueAt: null,
        isCounted: true,
        attempt: null,
        eventData: {},
      })),
      new Date(),
      'none',
    )
  }
}

function submissionOf(workspaceId: string, n: number): Submission {
  const address = `r${n}@d${n % 200}.example`
  return {
    id: newId(),
    workspaceId,
    apiKeyId: null,
    domainId: null,
    tier: 'normal',
    from: { email: 'shop@sender.example', name: null },
    replyTo: null,
    to: [{ email: address, name: null }],
    cc: [],
    recipients: [{ address, domain: `d${n % 200}.example`, kind: 'to' }],
    subject: 'New',
    html: null,
    text: 'x'.repeat(1000),
    headers: [],
    attachments: [],
    tags: [],
    metadata: null,
    trackOpens: null,
    trackClicks: null,
    scheduledAt: null,
    timezone: null,
    expiresAt: null,
    createdAt: new Date(),
    quota: null,
    idempotency: null,
  }
}

function feedOf(workspaceId: string): Omit<Parameters<typeof readFeed>[1], 'after'> {
  const filter = { types: null, messageId: null, recipient: null, from: null, to: null }
  return { workspaceId, limit: 100, filter }
}

/** The position of the last event. A reader that follows the feed is there. */
async function readToEnd(db: Db, workspaceId: string): Promise<typeof FEED_START | { tx: string; id: string }> {
  const { rows } = await db.query<{ tx: string; id: string }>(
    'SELECT tx, id FROM events WHERE workspace_id = $1 AND id >= $2 ORDER BY tx DESC, id DESC LIMIT 1',
    [workspaceId, idAt(Date.now() - HOUR_MS)],
  )
  return rows[0] ?? FEED_START
}

/** The median time, after one call to warm up. */
async function timed(times: number, work: () => Promise<unknown>): Promise<number> {
  await work()
  const took: number[] = []
  for (let i = 0; i < times; i++) {
    const start = performance.now()
    await work()
    took.push(performance.now() - start)
  }
  return percentile(took, 50)
}
