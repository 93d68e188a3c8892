/**
 * A deep page of a list by cursor reads as little as the first one: PostgreSQL finds its place in an index, sorts
 * nothing and reads no rows before it. Each list has 20,000 rows here, also of another workspace.
 */
import { assert } from 'chai'
import { listManagedKeys } from '#src/auth/managed-keys.ts'
import { listCalls } from '#src/automations/inspect.ts'
import { listEnrolments } from '#src/automations/enrol.ts'
import { listCampaigns } from '#src/campaigns/store.ts'
import { listAudiences } from '#src/contacts/audiences.ts'
import { createMemberLister } from '#src/contacts/member-pages.ts'
import { readDomains } from '#src/domains/domains.ts'
import { listAuditEntries } from '#src/operator/audit-log.ts'
import { listCaptured } from '#src/sandbox/inbox.ts'
import { listSegments } from '#src/segments/segments.ts'
import type { Db } from '#src/stores/db.ts'
import type { ListPosition, PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { listSuppressions } from '#src/suppression/list.ts'
import { listTemplates } from '#src/templates/store.ts'
import { listDeliveries } from '#src/webhooks/delivery-log.ts'
import type { Endpoint } from '#src/webhooks/endpoints.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { openDatabase, type OpenDatabase } from '#test/support/database.ts'

const ROWS = 20_000
/** Index pages and rows of 10 items and what is joined to them. */
const MAX_BUFFERS = 250

interface ListPlan {
  readonly name: string
  /** Fills the list of workspace $1, which is also the id of the parent, if the list has one; `n` is 1 to ROWS. */
  readonly fill: string
  /** What it reads, when that is filled with it. */
  readonly tables: string
  /** The sort key of the item in the middle. */
  readonly middle: string
  readonly read: (db: Db, workspaceId: string, page: PageRequest) => Promise<unknown>
}

const EACH = `FROM generate_series(1, ${ROWS}) n`
const AT = `'2026-01-01'::timestamptz + (n / 3) * interval '1 second'`
const byId = (table: string, where = 'workspace_id = $1', id = 'id'): string =>
  `SELECT ARRAY[${id}::text] AS key FROM ${table} WHERE ${where} ORDER BY ${id} OFFSET ${ROWS / 2} LIMIT 1`
const byTime = (table: string, id = 'id'): string => sql`
  SELECT ARRAY[created_at::text, ${id}::text] AS key
  FROM ${table}
  WHERE workspace_id = $1
  ORDER BY created_at, ${id}
  OFFSET ${ROWS / 2}
  LIMIT 1
`
const ANY_SUPPRESSION = { prefix: null, kind: null, after: null, before: null }

const LISTS: readonly ListPlan[] = [
  {
    name: 'API keys',
    fill: sql`
      INSERT INTO api_keys (id, workspace_id, kind, name, secret_hash)
      SELECT gen_random_uuid(), $1::uuid, 'admin', 'k', sha256(($1::uuid::text || n)::bytea) ${EACH}
    `,
    tables: 'api_keys',
    middle: byId('api_keys'),
    read: (db, workspaceId, page) => listManagedKeys(db, workspaceId, { ...page, kind: null }),
  },
  {
    name: 'suppressions',
    fill: sql`
      INSERT INTO suppressions (workspace_id, address, kind, cause, created_at, updated_at)
      SELECT $1, 'a' || n || '@b.example', 'manual', '', ${AT}, now() ${EACH}
    `,
    tables: 'suppressions',
    middle: byTime('suppressions', 'address'),
    read: (db, workspaceId, page) => listSuppressions(db, workspaceId, ANY_SUPPRESSION, page),
  },
  {
    name: 'segments',
    fill: `INSERT INTO segments (id, workspace_id, name, filter) SELECT gen_random_uuid(), $1, 's', '{}' ${EACH}`,
    tables: 'segments',
    middle: byId('segments'),
    read: (db, workspaceId, page) => listSegments(db, workspaceId, page),
  },
  {
    name: 'audiences',
    fill: sql`
      INSERT INTO audiences (id, workspace_id, name, subscribe_token, created_at, updated_at)
      SELECT gen_random_uuid(), $1::uuid, 'a', $1::uuid::text || n, ${AT}, now() ${EACH}
    `,
    tables: 'audiences',
    middle: byTime('audiences'),
    read: (db, workspaceId, page) => listAudiences(db, workspaceId, { ...page, sort: 'createdAt', direction: 'desc' }),
  },
  {
    name: 'domains',
    fill: sql`
      INSERT INTO domains (id, workspace_id, domain, verification_status, created_at)
      SELECT gen_random_uuid(), $1, 'd' || n || '.example', 'pending', ${AT} ${EACH}
    `,
    tables: 'domains',
    middle: byTime('domains'),
    read: (db, workspaceId, page) => readDomains(db, workspaceId, page),
  },
  {
    name: 'campaigns',
    fill: `INSERT INTO campaigns (id, workspace_id, name) SELECT gen_random_uuid(), $1, 'c' ${EACH}`,
    tables: 'campaigns',
    middle: byId('campaigns'),
    read: (db, workspaceId, page) => listCampaigns(db, workspaceId, { ...page, status: null }),
  },
  {
    name: 'templates',
    fill: sql`
      INSERT INTO templates (id, workspace_id, name, subject, body, created_at)
      SELECT gen_random_uuid(), $1, 't', 's', 'b', ${AT} ${EACH}
    `,
    tables: 'templates',
    middle: byTime('templates'),
    read: (db, workspaceId, page) => listTemplates(db, workspaceId, page),
  },
  {
    name: 'webhook deliveries',
    fill: sql`
      INSERT INTO webhook_deliveries (event_id, endpoint_id, workspace_id, due_at)
      SELECT gen_random_uuid(), $1, $1, now() ${EACH}
    `,
    tables: 'webhook_deliveries',
    middle: byId('webhook_deliveries', 'endpoint_id = $1', 'event_id'),
    read: (db, workspaceId, page) =>
      listDeliveries(db, { id: workspaceId } as Endpoint, { ...page, state: null, eventId: null }),
  },
  {
    name: 'enrolments',
    fill: sql`
      INSERT INTO enrolments (automation_id, id, workspace_id, contact_id, version, due_at, created_at)
      SELECT $1, gen_random_uuid(), $1, gen_random_uuid(), 1, now(), now() ${EACH}
    `,
    tables: 'enrolments',
    middle: byId('enrolments', 'automation_id = $1'),
    read: (db, workspaceId, page) => listEnrolments(db, workspaceId, { ...page, state: null }),
  },
  {
    name: 'webhook calls',
    fill: sql`
      INSERT INTO automation_calls (
        id, workspace_id, automation_id, enrolment_id, step, lane, url, body, due_at, created_at
      )
      SELECT gen_random_uuid(), $1, $1, $1, '1', 'l', 'u', 'b', now(), now() ${EACH}
    `,
    tables: 'automation_calls',
    middle: byId('automation_calls', 'automation_id = $1'),
    read: (db, workspaceId, page) => listCalls(db, workspaceId, page),
  },
  {
    name: 'captured emails',
    fill: sql`
      INSERT INTO sandbox_inbox (id, workspace_id, received_at, mail_from, rcpt_to, dkim, raw)
      SELECT gen_random_uuid(), $1, now(), '', 'a@b.example', '[]', '' ${EACH}
    `,
    tables: 'sandbox_inbox',
    middle: byId('sandbox_inbox'),
    read: (db, workspaceId, page) => listCaptured(db, workspaceId, page),
  },
  {
    name: 'contacts',
    fill: sql`
      WITH made AS (
        INSERT INTO contacts (id, workspace_id, email)
        SELECT gen_random_uuid(), $1::uuid, 'c' || n || '@b.example' ${EACH}
        RETURNING id, email
      ),
      audience AS (
        INSERT INTO audiences (id, workspace_id, name, subscribe_token, contact_count, created_at, updated_at)
        VALUES ($1, $1, 'contacts', $1::uuid, ${ROWS}, now(), now())
      )
      INSERT INTO memberships (audience_id, contact_id, workspace_id, email, is_subscribed)
      SELECT $1, id, $1, email, random() < 0.5
      FROM made
    `,
    tables: 'contacts, audiences, memberships',
    middle: byId('memberships', 'audience_id = $1', 'contact_id'),
    read: (db, workspaceId, page) =>
      createMemberLister(db)(workspaceId, {
        ...page,
        keyId: workspaceId,
        audienceId: workspaceId,
        sort: 'createdAt',
        direction: 'desc',
        isSubscribedOnly: false,
      }),
  },
  {
    name: 'the audit log',
    fill: sql`
      INSERT INTO audit_log (id, workspace_id, actor_kind, actor, action, kind, object, change)
      SELECT gen_random_uuid(), $1, 'cli', 'c', 'a', 'k', 'o', 'create' ${EACH}
    `,
    tables: 'audit_log',
    middle: byId('audit_log'),
    read: (db, workspaceId, page) => listAuditEntries(db, { workspaceId }, page),
  },
]

describe('plans of lists by cursor', function () {
  this.timeout(300_000)
  let database: OpenDatabase
  before(async () => {
    database = await openDatabase()
  })
  after(() => database.close())

  /** Runs each SELECT of a list with EXPLAIN; returns the plans. */
  function explaining(plans: string[]): Db {
    return {
      ...database.db,
      query: async (statement, values) => {
        const text = typeof statement === 'string' ? statement : statement.text
        const { rows } = await database.db.query<{ 'QUERY PLAN': string }>(
          `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) ${text}`,
          values,
        )
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
        return database.db.query(statement, values)
      },
    }
  }

  for (const { name, fill, tables, middle, read } of LISTS)
    it(`${name}: a deep page reads as little as the first`, async () => {
      const [{ id: other }, { id: workspaceId }] = [
        await createWorkspace(database.db, { name: `other ${name}`, plan: 'launch' }),
        await createWorkspace(database.db, { name, plan: 'launch' }),
      ]
      for (const workspace of [other, workspaceId]) await database.db.bulk.query(fill, [workspace])
      await database.db.query(`ANALYZE ${tables}`)
      const {
        rows: [row],
      } = await database.db.query<{ key: string[] }>(middle, [workspaceId])
      const at: ListPosition = { key: row?.key ?? assert.fail(), before: ROWS / 2, total: ROWS }
      const plans: string[] = []
      await read(explaining(plans), workspaceId, { page: 1, limit: 10, at })
      const plan = plans.join('\n')
      assert.notMatch(plan, /^(?:Finalize )?Aggregate/m, 'a deep page counts nothing')
      // planning reads the catalog, more of it with cold caches
      const executed = plan.replaceAll(/^Planning:\n.*$/gm, '')
      const buffers = [...executed.matchAll(/shared hit=(\d+)(?: read=(\d+))?/g)].map(
        ([, hit, missed]) => Number(hit) + Number(missed ?? 0),
      )
      assert.isBelow(Math.max(...buffers), MAX_BUFFERS, plan)
    })
})
