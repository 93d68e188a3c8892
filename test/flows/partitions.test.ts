/**
 * Statements on the weekly partitions touch the weeks that they need, however many weeks are stored: one row for each.
 * It counts partitions and measures no time; bench/partitions does.
 */
import { assert } from 'chai'
import { checkSlowReceivers } from '#src/campaigns/slow-receivers.ts'
import { cancelQueued } from '#src/campaigns/reopen.ts'
import type { LockedCampaign } from '#src/campaigns/locked-campaign.ts'
import { loadSentMails } from '#src/automations/due-enrolments.ts'
import { renderDeferredMessage } from '#src/deferred-content/deferred-content.ts'
import { countComplaints } from '#src/egress/warm-up-days.ts'
import { FEED_START } from '#src/events/cursor.ts'
import { readFeed, type FeedPage } from '#src/events/feed.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { claimRecipients, loadAttachments, loadBodies } from '#src/messages/claim.ts'
import { sendDeliveryReports } from '#src/messages/delivery-reports.ts'
import { readLeased, readOrphaned, readUnknown, readWaiting } from '#src/messages/open-recipients.ts'
import { countOpen, countTiers, listOpen, readSlice } from '#src/messages/queue-view.ts'
import { readMessage } from '#src/messages/read.ts'
import { raiseRecipientEvents } from '#src/messages/recipient-events.ts'
import { cancelScheduled, listScheduled } from '#src/messages/scheduled-messages.ts'
import { searchMessages, type SearchFilter } from '#src/messages/search.ts'
import { applyTransitions, type Transition } from '#src/messages/transition.ts'
import { newId } from '#src/platform/id.ts'
import { refreshOpenWeeks } from '#src/queue/open-weeks.ts'
import type { Db } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { storeCapturedMail } from '#src/sandbox/inbox.ts'
import { findUnsubscribeTarget } from '#src/tracking/unsubscribe.ts'
import { recordHits } from '#src/tracking/hit-recorder.ts'
import { claimDeliveries } from '#src/webhooks/claim.ts'
import { listDeliveries } from '#src/webhooks/delivery-log.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { countTouched, createOldPartitions } from '#test/support/touched-partitions.ts'
import { readQueueMetrics } from '#worker/queue-metrics.ts'

const OLD_WEEKS = 20
/** Last week, this one and the three ahead, and as many again: a statement without a bound touches all of them. */
const MOST = 10

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
const FEED = { types: null, messageId: null, recipient: null, from: null, to: null } as const

interface Stored {
  readonly ctx: TestContext
  readonly workspaceId: string
  /** A queued message. */
  readonly id: string
  /** The position after the last event. */
  readonly end: FeedPage['next']
}

type Work = (db: Db, stored: Stored) => Promise<unknown>

const now = (): Date => new Date()
const moving = (messageId: string): Transition => ({
  messageId,
  n: 0,
  move: 'fail_waiting',
  lease: null,
  reason: 'because',
  dueAt: null,
  isCounted: false,
  attempt: null,
  eventData: null,
})
const campaign = { id: newId(), slow: ['receiver.example'], dispatchedAt: null } as unknown as LockedCampaign

const STATEMENTS: Readonly<Record<string, Work>> = {
  'store a message': (db, { ctx, workspaceId }) =>
    createAcceptor({ ...ctx, db }).accept(submissionOf(workspaceId, { tags: ['a'] })),
  'claim a recipient': (db, { id }) => claimRecipients(db, 1, [{ messageId: id, n: 0 }], now()),
  'load bodies': (db, { id }) => loadBodies(db, id),
  'load attachments': (db, { id }) => loadAttachments(db, id),
  'make a transition': (db, { id }) => applyTransitions(db, [moving(id)], now(), 'none'),
  'make a transition of campaign mail': (db, { id }) => applyTransitions(db, [moving(id)], now()),
  'raise an event of a report': (db, { id: messageId }) =>
    raiseRecipientEvents(db, [{ id: newId(), messageId, n: 0, type: 'email.complained', data: {} }], now()),
  'count a complaint': (db, { id: messageId }) => countComplaints(db, [{ messageId, n: 0 }]),
  'record hits': async (db, { ctx, id }) => {
    await db.query({
      name: 'test-hit',
      text: sql`INSERT INTO tracking_hits (at, message_id, n, address, user_agent)
        VALUES (now() - interval '1 hour', '${id}', 0, '192.0.2.1', 'test')`,
    })
    await recordHits({ ...ctx, db })
  },
  'find who unsubscribes': (db, { workspaceId, id: messageId }) =>
    findUnsubscribeTarget(db, { base: '', workspaceId, messageId, n: 0, contactId: null, audienceId: null } as never),
  'render deferred content': (db, { ctx, id }) =>
    renderDeferredMessage({ ctx: { ...ctx, db }, links: null as never, tracking: null as never }, null as never, id),
  'store captured mail': (db, { id: messageId }) =>
    storeCapturedMail(
      db,
      { mailFrom: '', headerFrom: null, subject: null, messageId, tls: null, dkim: [], raw: Buffer.from('') },
      ['ada@receiver.example'],
      now(),
    ),
  'claim webhook deliveries': (db) =>
    claimDeliveries(
      { db, decrypt: () => ({}) as never, onAbandoned: () => undefined },
      { total: 10, defaultPerEndpoint: 10, byEndpoint: new Map() },
    ),
  'list webhook deliveries': (db, { ctx }) =>
    ctx.db
      .query<{ id: string }>('SELECT id FROM webhook_endpoints')
      .then(({ rows }) => listDeliveries(db, rows[0] as never, { state: null, eventId: null, page: 1, limit: 10 })),
  'read the feed at its end': (db, { workspaceId, end }) =>
    readFeed(db, { workspaceId, after: end, limit: 100, filter: FEED }),
  'poll the feed': (db, { workspaceId, end }) => readFeed(db, { workspaceId, after: end, limit: 50, filter: FEED }),
  'read the feed of a new workspace': (db, { workspaceId }) =>
    readFeed(db, { workspaceId, after: FEED_START, limit: 100, filter: FEED }),
  'read the events of a message': (db, { workspaceId, id }) =>
    readFeed(db, { workspaceId, after: FEED_START, limit: 100, filter: { ...FEED, messageId: id } }),
  'send delivery reports': async (db, { ctx }) =>
    sendDeliveryReports({ db, config: ctx.config, acceptor: createAcceptor({ ...ctx, db }) }, now()),
  'read a message': (db, { workspaceId, id }) => readMessage(db, workspaceId, id),
  'read waiting recipients': (db) => readWaiting(db, 'normal', now(), { cursor: null, limit: 10 }),
  'read recipients of dead leases': (db) => readLeased(db, [1], 10),
  'read recipients without a lease': (db) => readOrphaned(db, 10),
  'read unknown outcomes': (db) => readUnknown(db, now(), 10),
  'read queue metrics': (db, { ctx: { config, redis } }) => readQueueMetrics({ config, db, redis }),
  'list open recipients': (db) => listOpen({ db, now: new Date(), shapingFile: null }, {}, { limit: 10, cursor: null }),
  'count open recipients': (db) => countOpen(db, {}, 'domain', 10),
  'count tiers': (db) => countTiers(db),
  'read a slice of the queue': (db) =>
    readSlice(db, {
      filter: {},
      position: { tier: 'normal', after: null },
      states: ['queued'],
      unchangedSince: now(),
      limit: 10,
    }),
  'list scheduled messages': (db, { workspaceId }) => listScheduled(db, workspaceId, { page: 1, limit: 10 }),
  'cancel a scheduled message': (db, { ctx, workspaceId, id }) => cancelScheduled({ ...ctx, db }, workspaceId, id),
  'check slow receivers': (db) => checkSlowReceivers(db, new Map(), campaign, now()),
  'cancel the mail of a campaign': (db) => cancelQueued(db, campaign, now()),
  'load the mails of an enrolment': (db) => loadSentMails(db, [newId()]),
  ...Object.fromEntries(
    Object.entries({
      'all messages': {},
      'a recipient': { recipient: 'ada@receiver.example' },
      'a domain': { recipient: 'receiver.example' },
      'a subject': { subject: 'hello' },
    }).map(([what, filter]): [string, Work] => [
      `search for ${what}`,
      (db, { workspaceId }) =>
        searchMessages(db, { workspaceId, filter: { ...ANY, ...filter }, cursor: null, skip: 0, limit: 1 }),
    ]),
  ),
}

describe('statements on weekly partitions', () => {
  let stored: Stored
  before(async () => {
    const ctx = await createContext()
    await createOldPartitions(ctx.db, OLD_WEEKS)
    await refreshOpenWeeks(ctx.db, Date.now())
    const workspaceId = await ctx.newWorkspace()
    await ctx.db.query(
      `INSERT INTO leases (version, machine, pid, expires_at) VALUES ('0.2.0', 'here', 1, now() + interval '1 hour')`,
    )
    await ctx.db.query(
      sql`INSERT INTO webhook_endpoints (id, workspace_id, url, event_types, secret)
       VALUES ($1, $2, 'https://hook.example', '{*}', '\\x00')`,
      [newId(), workspaceId],
    )
    const submissions = [submissionOf(workspaceId), submissionOf(workspaceId)]
    for (const submission of submissions) await createAcceptor(ctx).accept(submission)
    await ctx.db.query(`UPDATE report_cursor SET since = now()`)
    const page = await readFeed(ctx.db, { workspaceId, after: FEED_START, limit: 100, filter: FEED })
    stored = { ctx, workspaceId, id: submissions[0]?.id ?? '', end: page?.next ?? FEED_START }
  })
  after(() => stored.ctx.close())

  for (const [what, work] of Object.entries(STATEMENTS))
    it(what, async () => {
      const touched = await countTouched(stored.ctx.db, stored.ctx.databaseUrl, (db) => work(db, stored))
      for (const [table, partitions] of Object.entries(touched)) assert.isAtMost(partitions, MOST, table)
    })

  it('a statement without a bound touches all partitions', async () => {
    const touched = await countTouched(stored.ctx.db, stored.ctx.databaseUrl, (db) =>
      db.query('SELECT count(*) FROM recipients'),
    )
    assert.isAbove(touched['recipients'] ?? 0, OLD_WEEKS)
  })
})
