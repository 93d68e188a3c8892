/**
 * A statement for a batch of ids finds its rows by these ids, also with a plan that PostgreSQL made for the first
 * message of a week while its statistics said that the week is empty, as after VACUUM ANALYZE on a Sunday. Such a plan
 * is used until the week is analyzed: if it read the whole week, a batch would cost more with each message of the week.
 */
import { assert } from 'chai'
import { countComplaints } from '#src/egress/warm-up-days.ts'
import { addMessages } from '#src/events/reported-event.ts'
import { claimRecipients } from '#src/messages/claim.ts'
import { findCurrentAttempts } from '#src/messages/open-recipients.ts'
import { raiseRecipientEvents } from '#src/messages/recipient-events.ts'
import { applyTransitions, cancellationOf, type Transition } from '#src/messages/transition.ts'
import { newId } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { partitionName } from '#src/stores/partition-names.ts'
import { sql } from '#src/stores/sql.ts'
import { recordHits } from '#src/tracking/hit-recorder.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'

const IDS = Array.from({ length: 20 }, () => newId())
const NOW = new Date()
const WEEK = partitionName('messages', NOW.getTime()).replace('messages', '')

const moveOf = (messageId: string): Transition => ({
  ...cancellationOf(messageId, 0, 'test'),
  move: 'deliver',
  lease: 1,
  isCounted: true,
  eventData: {},
})

const BATCHES: Readonly<Record<string, (db: Queryable) => Promise<unknown>>> = {
  claim: (db) =>
    claimRecipients(
      db,
      1,
      IDS.map((messageId) => ({ messageId, n: 0 })),
      NOW,
    ),
  results: (db) => applyTransitions(db, IDS.map(moveOf), NOW, 'none'),
  'results of campaigns': (db) => applyTransitions(db, IDS.map(moveOf), NOW, 'follow'),
  cancellations: (db) =>
    applyTransitions(
      db,
      IDS.map((id) => cancellationOf(id, 0, 'test')),
      NOW,
    ),
  'events of recipients': (db) =>
    raiseRecipientEvents(
      db,
      IDS.map((messageId) => ({ id: newId(), messageId, n: 0, type: 'email.complained', data: {} })),
      NOW,
    ),
  'attempts of a journal': (db) =>
    findCurrentAttempts(
      db,
      IDS.map((messageId) => ({ messageId, n: 0, lease: 1, attempt: 1 })),
    ),
  'messages of events': (db) => addMessages(db, IDS.map((message_id) => ({ message_id })) as never),
  'complaints about warming sources': (db) =>
    countComplaints(
      { query: async (...args) => ({ ...(await db.query(...args)), rows: [] }) },
      IDS.map((messageId) => ({ messageId, n: 0 })),
    ),
  'opens and clicks': (db) => {
    const transaction = (work: (tx: Queryable) => unknown): unknown => work(db)
    return recordHits({ db: { transaction }, redis: {}, clock: { now: () => NOW.getTime() } } as never)
  },
}

const FIRST_ROWS = (id: string, workspaceId: string): Readonly<Record<string, readonly unknown[]>> => ({
  [sql`
    INSERT INTO messages (
      id, workspace_id, tier, from_email, to_list, subject, body_text, content_size, recipient_count, created_at
    )
    VALUES ($1, $2, 'normal', 'a@b.example', '[]', 's', 't', 1, 1, now())`]: [id, workspaceId],
  [sql`
    INSERT INTO recipients (
      message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, updated_at
    )
    VALUES ($1, 0, $2, 'normal', 'to', 'a@c.example', 'c.example', 'delivered', false, now(), true, now())`]: [
    id,
    workspaceId,
  ],
  [sql`
    INSERT INTO attempts (message_id, n, attempt, at, duration_ms, conversation, outcome)
    VALUES ($1, 0, 1, now(), 5, '[]', 'delivered')`]: [id],
  [sql`
    INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
    VALUES ($1, $2, 'email.sent', $1, 0, 1, 'a@c.example', '{}', now())`]: [id, workspaceId],
})

/** What each statement returns, as far as its function reads it before the next statement. */
const ROWS = IDS.map((id) => ({ id, message_id: id, n: 0, at: NOW, type: 'email.opened', done: [] }))

describe('statements for a batch of ids', () => {
  let database: OpenDatabase
  before(async () => {
    database = await openDatabase()
    await database.db.bulk.query('VACUUM ANALYZE')
    await storeFirstMessage(database.db)
  })
  after(() => database.close())

  /** Explains each statement instead of running it. */
  function explaining(plans: string[]): Queryable {
    return {
      query: async (statement, values) => {
        if (typeof statement === 'string') return assert.fail(`not prepared: ${statement}`)
        // a name, so that it runs with the settings of prepared statements
        const explain = { name: `explain ${statement.name}`, text: `EXPLAIN (COSTS OFF) ${statement.text}` }
        const { rows } = await database.db.query<{ 'QUERY PLAN': string }>(explain, values)
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
        return { rows: ROWS as never, rowCount: ROWS.length }
      },
    }
  }

  for (const [name, run] of Object.entries(BATCHES))
    it(`${name}: read by id`, async () => {
      const plans: string[] = []
      await run(explaining(plans))
      const scans = plans
        .flatMap((plan) => plan.split(/(?=-> )/))
        .filter((node) => node.includes(WEEK) && /Scan/.test(node))
      assert.isNotEmpty(scans, plans.join('\n'))
      assert.deepEqual(
        scans.filter((node) => !/Index Cond: .*(?:id|message_id)\b/.test(node)),
        [],
      )
    })
})

/** It arrives after the statistics were collected. */
async function storeFirstMessage(db: Db): Promise<void> {
  const { id: workspaceId } = await createWorkspace(db, { name: 'first', plan: 'launch' })
  const id = newId()
  for (const [statement, values] of Object.entries(FIRST_ROWS(id, workspaceId))) await db.query(statement, values)
}
