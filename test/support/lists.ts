/** Every list of the API, and a workspace that has at least four items in each, some of them equal in the sort key. */
import { assert } from 'chai'
import { storeInvitation } from '#src/people/invitations.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import type { Tenant, TestApi } from './api.ts'
import { addPerson, addSignedIn } from './people.ts'
import { addDmarcReports, DMARC_LIST } from './dmarc-samples.ts'
import { listCase, sorted, type ListCase, type ListIds } from './list-case.ts'
import { createTenantObjects, firstIds, type TenantIds } from './tenant-objects.ts'

export interface ListSeed {
  readonly ids: ListIds
  /** Headers of an owner who is signed in. */
  readonly owner: Readonly<Record<string, string>>
}

const OF_OPERATOR = { isOperator: true, hasNoNumbers: true } as const

export const LISTS: readonly ListCase[] = [
  listCase('list-scheduled', '/send-email/scheduled', 'emails', { isRegular: true }),
  listCase('get-captured-emails', '/public/emails/captured', 'emails'),
  listCase('list-partials', '/templates/partials', 'partials', { id: 'name', hasNoNumbers: true }),
  listCase('get-import-errors', (ids) => `/public/contacts/imports/${ids.import}/errors`, 'errors', {
    id: 'message',
    hasNoNumbers: true,
  }),
  listCase('list-templates', '/templates', 'templates'),
  listCase('list-template-versions', ({ template }) => `/templates/${template}/versions`, 'versions', {
    id: 'version',
  }),
  ...sorted('get-audiences', () => '/public/audiences/get-audiences', 'audiences', [
    'createdAt',
    'name',
    'contactCount',
  ]),
  ...sorted('get-contacts', ({ audience }) => `/public/contacts/get-contacts?audienceId=${audience}`, 'contacts', [
    'createdAt',
    'email',
    'firstName',
    'lastName',
    'deliverabilityScore',
  ]),
  listCase('search-emails', '/public/emails', 'emails', { otherFilter: { tier: 'bulk' } }),
  listCase('list-events', '/public/events', 'events', {
    hasNoNumbers: true,
    hasAfter: true,
    otherFilter: { type: 'email.sent' },
  }),
  listCase(
    'list-campaign-recipients',
    ({ doneCampaign }) => `/public/campaigns/${doneCampaign}/recipients`,
    'recipients',
    {
      id: 'contact_id',
      hasNoNumbers: true,
      hasAfter: true,
      otherFilter: { filter: 'delivered' },
    },
  ),
  listCase('get-contact-history', ({ contact }) => `/public/contacts/get-contact-history?id=${contact}`, 'history', {
    hasNoNumbers: true,
  }),
  listCase('search-contacts', ({ audience }) => `/public/contacts/search?audienceId=${audience}`, 'contacts', {
    hasNoNumbers: true,
  }),
  listCase('list-segment-contacts', ({ segment }) => `/public/segments/${segment}/contacts`, 'contacts', {
    hasNoNumbers: true,
    hasAfter: true,
  }),
  listCase('list-audit-log', '/public/audit-log', 'entries', {
    hasNoNumbers: true,
    otherFilter: { object_type: 'domain' },
  }),
  listCase('admin-list-audit-log', '/admin/audit-log', 'entries', OF_OPERATOR),
  listCase('admin-list-users', '/admin/users', 'users', { isOperator: true }),
  listCase('admin-list-invitations', '/admin/invitations', 'invitations', { isOperator: true }),
  listCase('admin-list-workspaces', '/admin/workspaces', 'workspaces', {
    isOperator: true,
    otherFilter: { plan: 'free' },
  }),
  listCase('admin-list-keys', ({ workspace }) => `/admin/workspaces/${workspace}/keys`, 'keys', { isOperator: true }),
  listCase('admin-list-reports', '/admin/reports?letters=true', 'reports', {
    ...OF_OPERATOR,
    otherFilter: { letters: 'false' },
  }),
  listCase('list-members', '/public/members', 'members', { id: 'user_id', isPersonal: true }),
  listCase('list-invitations', '/public/invitations', 'invitations', { isPersonal: true }),
  listCase('list-open-mail', '/public/queue', 'recipients', { id: 'email_id', hasNoNumbers: true }),
  listCase('admin-list-queue', '/admin/queue', 'recipients', { ...OF_OPERATOR, id: 'email_id' }),
  listCase('admin-list-actions', '/admin/actions', 'actions', OF_OPERATOR),
  listCase('admin-list-blocked-links', '/admin/blocked-links', 'links', OF_OPERATOR),
  listCase('admin-list-notices', '/admin/notices', 'notices', { ...OF_OPERATOR, otherFilter: { state: 'all' } }),
  listCase('admin-list-suppression-reviews', '/admin/suppression-reviews', 'reviews', OF_OPERATOR),
  listCase('admin-list-tls-reports', '/admin/tls-reports', 'reports', {
    ...OF_OPERATOR,
    otherFilter: { failing: 'true' },
  }),
  listCase('get-automations', '/public/automations/get-all', 'automations', { otherFilter: { status: 'draft' } }),
  listCase('get-automation-calls', ({ automation }) => `/public/automations/${automation}/calls`, 'calls'),
  listCase(
    'get-automation-subscribers',
    ({ automation }) => `/public/automations/${automation}/subscribers`,
    'subscribers',
    { otherFilter: { status: 'active' } },
  ),
  listCase('get-campaigns', '/public/campaigns', 'campaigns', { otherFilter: { status: 'draft' } }),
  listCase('get-domains', '/public/domains/get-domains', 'items'),
  listCase('list-dmarc-reports', ...DMARC_LIST),
  listCase('list-api-keys', '/public/api-keys', 'keys', { otherFilter: { type: 'regular' } }),
  listCase('list-accounts', '/public/accounts', 'accounts'),
  listCase('list-suppressions', '/public/suppressions', 'suppressions', {
    id: 'address',
    otherFilter: { prefix: 'never' },
  }),
  listCase('list-inbound-routes', '/public/inbound/routes', 'routes'),
  listCase('list-received-emails', '/public/inbound/emails', 'emails', { otherFilter: { spam_verdict: 'spam' } }),
  listCase('list-imports', '/public/contacts/imports', 'imports'),
  listCase('list-segments', '/public/segments', 'segments'),
  listCase('list-webhooks', '/public/webhooks', 'webhooks'),
  listCase('list-webhook-deliveries', ({ webhook }) => `/public/webhooks/${webhook}/deliveries`, 'deliveries', {
    otherFilter: { state: 'pending' },
  }),
]

const MARKERS = ['first', 'second', 'third', 'fourth']

/** Creates all objects of a workspace four times, and four parts of each object that has a list. */
export async function seedLists(api: TestApi, tenant: Tenant): Promise<ListSeed> {
  const made = []
  for (const marker of MARKERS) made.push(firstIds(await createTenantObjects(api, tenant, marker)))
  const ids = made[0] ?? assert.fail()
  await addParts(api, tenant, ids)
  for (const { email } of made.slice(1))
    await post(api, tenant.admin, `/public/automations/add-automation/${ids.automation}/enroll`, { email })
  return { ids: { ...ids, workspace: tenant.workspaceId }, owner: await addPeople(api, tenant) }
}

async function addPeople(api: TestApi, { workspaceId }: Tenant): Promise<ListSeed['owner']> {
  const owner = await addSignedIn(api, { role: 'owner', workspaceId })
  for (const marker of MARKERS) {
    await addPerson(api, { role: 'viewer', workspaceId })
    const place = { workspaceId, role: 'viewer', isOperator: false, invitedBy: owner.userId } as const
    await storeInvitation(api.db, { ...place, email: `${marker}@invited.example` })
    const service = { ...place, workspaceId: null, role: null, isOperator: true }
    await storeInvitation(api.db, { ...service, email: `${marker}@operator.example` })
  }
  return { cookie: owner.cookie, origin: api.config.publicUrl, 'x-workspace': workspaceId }
}

async function addParts(api: TestApi, tenant: Tenant, ids: TenantIds): Promise<void> {
  const { admin, workspaceId } = tenant
  const now = new Date()
  for (const n of MARKERS.keys()) {
    await post(api, admin, '/templates/save', { id: ids.template, name: 'T', subject: `S ${n}`, body: 'B' })
    await post(api, admin, `/public/webhooks/${ids.webhook}/test`, {})
    await post(api, admin, '/public/contacts/add-contact', {
      email: `member-${n}@people.example`,
      audience_id: ids.audience,
      first_name: n < 2 ? 'Ann' : `Ann ${n}`,
      tags: ids.tag,
    })
    await api.db.query(
      sql`
        INSERT INTO domains (id, workspace_id, domain, verification_status, created_at)
        VALUES ($1, $2, $3, 'pending', $4)
      `,
      [newId(), workspaceId, `${newId().slice(-12)}.example`, now],
    )
    await api.db.query(
      sql`
        INSERT INTO automation_calls (
          id, workspace_id, automation_id, enrolment_id, step, lane, url, body, due_at, created_at
        )
        VALUES ($1, $2, $3, $4, '1', 'l', 'https://hooks.example', '{}', $5, $5)
      `,
      [newId(), workspaceId, ids.automation, ids.enrolment, now],
    )
  }
  await addDmarcReports(api, workspaceId, ids.domain)
  await addRecipients(api, tenant, ids)
  await addOperatorRows(api, now)
  await api.db.query(
    sql`
      INSERT INTO import_errors (import_id, line, n, message)
      SELECT $1, n / 2, n % 2, 'error ' || n
      FROM generate_series(1, 5) n
    `,
    [ids.import],
  )
  // equal sort keys: the id decides
  await api.db.query('UPDATE templates SET created_at = $2 WHERE workspace_id = $1', [workspaceId, now])
  for (const title of ['a', 'b', 'c', 'd'])
    await api.db.query('UPDATE contacts SET job_title = $2 WHERE workspace_id = $1', [workspaceId, title])
  await api.db.query(
    `UPDATE suppressions SET created_at = $2 WHERE workspace_id = $1 AND address NOT LIKE 'never-first%'`,
    [workspaceId, now],
  )
  await api.db.query('UPDATE messages SET scheduled_at = $2 WHERE workspace_id = $1 AND scheduled_at IS NOT NULL', [
    workspaceId,
    new Date(now.getTime() + 86_400_000),
  ])
}

async function addRecipients(api: TestApi, { workspaceId }: Tenant, ids: TenantIds): Promise<void> {
  await api.db.query(
    sql`
      INSERT INTO campaign_recipients (campaign_id, contact_id, workspace_id, email)
      SELECT $1, id, workspace_id, email
      FROM contacts
      WHERE workspace_id = $2
    `,
    [ids.doneCampaign, workspaceId],
  )
}

async function addOperatorRows(api: TestApi, now: Date): Promise<void> {
  for (const n of MARKERS.keys()) {
    const values = [newId(), newId()]
    await api.db.query(
      sql`
        INSERT INTO operator_actions (id, verb, subject, reason, done_by, state)
        VALUES ($1, 'retry', '{}', '', 'test', 'done')
      `,
      [values[0]],
    )
    await api.db.query(
      `INSERT INTO blocked_links (id, kind, subject, reason, blocked_by) VALUES ($1, 'host', $2, '', 'test')`,
      values,
    )
    await api.db.query(
      sql`
        INSERT INTO operator_notices (id, kind, subject, text, count, first_seen, last_seen)
        VALUES ($1, 'database-older', $2, 'x', 1, $3, $3)
      `,
      [...values, now],
    )
    await api.db.query('INSERT INTO suppression_reviews (id, is_lifting) VALUES ($1, false)', [newId()])
    await api.db.query(
      sql`
        INSERT INTO received_tls_reports (
          id, organization, report_id, signer, via, peer, begins_at, ends_at, policies, successes, failures
        )
        VALUES ($1, 'o', $2, '', 'mail', '', $3, $3, '[]', 1, $4)
      `,
      [...values, now, n],
    )
    await api.db.query(
      sql`
        INSERT INTO inbound_reports (id, received_at, target, mail_from, peer, size, raw)
        VALUES ($1, $2, 'postmaster', 'a@b.example', '192.0.2.1', 1, '')
      `,
      [newId(), now],
    )
    await api.db.query(`INSERT INTO workspaces (id, key_part, name, plan) VALUES ($1, $2, $3, 'launch')`, [
      newId(),
      newId().replaceAll('-', ''),
      `Listed ${n}`,
    ])
  }
}

async function post(api: TestApi, key: string, path: string, body: object): Promise<void> {
  const { status, body: answer } = await api.call('POST', path, { key, body })
  assert.isBelow(status, 300, `${path}: ${JSON.stringify(answer)}`)
}
