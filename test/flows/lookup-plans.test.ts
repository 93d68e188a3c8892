/**
 * A prepared statement for a batch looks up the key of each row, also if it was planned while the week was nearly
 * empty, as each Monday. A plan that reads the week instead is used until the week is analysed, and costs the more the
 * more mail arrives meanwhile.
 */
import { assert } from 'chai'
import pg from 'pg'
import { claimRecipients } from '#src/messages/claim.ts'
import { findCurrentAttempts } from '#src/messages/open-recipients.ts'
import { raiseRecipientEvents } from '#src/messages/recipient-events.ts'
import { applyTransitions, cancellationOf, type Transition } from '#src/messages/transition.ts'
import { newId } from '#src/platform/id.ts'
import { HOT_SETTINGS, type Queryable } from '#src/stores/db.ts'
import { createDatabase } from '#test/support/stores.ts'

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly PlanNode[]
}

const NOW = new Date()
const BATCH = [{ messageId: newId(), n: 1 }]
const [{ messageId }] = BATCH as [(typeof BATCH)[0]]
const DELIVERED: Transition = { ...cancellationOf(messageId, 1, 'delivered'), move: 'deliver', lease: 1 }
const EVENT = { id: newId(), messageId, n: 1, type: 'email.complained', data: {} } as const

const BATCHES: Readonly<Record<string, (db: Queryable) => Promise<unknown>>> = {
  claim: (db) => claimRecipients(db, 1, BATCH, NOW),
  results: (db) => applyTransitions(db, [DELIVERED], NOW, 'none'),
  'results of campaigns': (db) => applyTransitions(db, [DELIVERED], NOW),
  cancellations: (db) => applyTransitions(db, [cancellationOf(messageId, 1, '')], NOW),
  complaints: (db) => raiseRecipientEvents(db, [EVENT], NOW),
  'results of a journal': (db) => findCurrentAttempts(db, [{ messageId, n: 1, lease: 1, attempt: 1 }]),
}

/** The texts of the statements that the batch runs. */
async function textsOf(batch: (db: Queryable) => Promise<unknown>): Promise<string[]> {
  const texts: string[] = []
  await batch({
    query: (statement) => {
      texts.push(typeof statement === 'string' ? statement : statement.text)
      return Promise.resolve({ rows: [], rowCount: 0 })
    },
  })
  return texts
}

function scansOf(node: PlanNode): PlanNode[] {
  const isScan = /_\d{8}$/.test(node['Relation Name'] ?? '') && node['Node Type'].endsWith('Scan')
  return [...(isScan ? [node] : []), ...(node.Plans ?? []).flatMap(scansOf)]
}

describe('plans of prepared statements for batches', function () {
  this.timeout(60_000)
  let client: pg.Client
  let drop: () => Promise<void>
  before(async () => {
    const database = await createDatabase()
    drop = () => database.drop()
    client = new pg.Client(database.url)
    await client.connect()
    for (const [name, value] of Object.entries(HOT_SETTINGS)) await client.query(`SET ${name} = ${value}`)
  })
  after(async () => {
    await client.end()
    await drop()
  })

  for (const [what, batch] of Object.entries(BATCHES))
    it(`${what}: each row by its key`, async () => {
      const texts = await textsOf(batch)
      assert.isNotEmpty(texts)
      for (const text of texts) {
        const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
          `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`,
        )
        const scans = rows.flatMap((row) => scansOf(row['QUERY PLAN'][0].Plan))
        assert.isNotEmpty(scans, text)
        for (const scan of scans) assert.match(scan['Index Cond'] ?? 'none', / = /, JSON.stringify(scan))
      }
    })
})
