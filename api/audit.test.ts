/**
 * The audit log: every changing route of a key or of the operator writes an entry. Routes that name an object are sent
 * by tenants.test.ts, which checks their entries; the others are here. A new route that is in neither place fails.
 */
import { assert } from 'chai'
import { createKey } from '#src/auth/keys.ts'
import { storeInvitation } from '#src/people/invitations.ts'
import { newId } from '#src/platform/id.ts'
import { storeCapturedMail } from '#src/sandbox/inbox.ts'
import { sql } from '#src/stores/sql.ts'
import { recordChange, type Actor } from '#src/stores/audit.ts'
import { addPerson } from '#test/support/people.ts'
import { REQUEST_SAMPLES } from '#test/support/request-samples.ts'
import {
  listOf,
  OPERATOR_TOKEN,
  startApi,
  textOf,
  type Json,
  type TestApi,
  type TestCall,
  type TestResponse,
} from '#test/support/api.ts'
import { isAudited, NOT_AUDITED } from '#api/http/audit.ts'
import { isPersonal } from '#api/http/route.ts'
import { ROUTES } from './table.ts'

const SECRETS = {
  password: 'pass-word-of-the-account',
  path: 'T0-path-token',
  query: 'query-token',
} as const
const URL_WITH_SECRETS = `https://hooks.example/${SECRETS.path}?key=${SECRETS.query}`

/** The smallest PNG. */
const LOGO = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A suspension of everything is created before it is resumed. */
const SUSPENSION = { domain: 'slow.example' }

/** `route: method path body`, in the order in which they are sent. */
const INVITATION_ID = newId()

const REQUESTS: Readonly<Record<string, readonly [method: string, path: string, body?: object]>> = {
  'rotate-automation-webhook-secret': ['POST', '/public/automations/rotate-webhook-secret'],
  'add-audience': ['POST', '/public/audiences/add-audience', { name: 'A' }],
  'save-partial': ['POST', '/templates/partials/save', { name: 'p', body: 'P' }],
  'add-domain': ['POST', '/public/domains/add-domain', { domain: 'mail.customer.example' }],
  'create-webhook': ['POST', '/public/webhooks', { url: URL_WITH_SECRETS, events: '*' }],
  'change-tracking': ['PATCH', '/public/workspace/tracking', { track_opens: true }],
  'change-branding': ['PATCH', '/public/workspace/branding', { accent_color: '#7a1f3d' }],
  'set-logo': ['PUT', '/public/workspace/branding/logo', { content_base64: LOGO }],
  'delete-logo': ['DELETE', '/public/workspace/branding/logo'],
  'import-suppressions': ['POST', '/public/suppressions/import', { emails: ['new@people.example'] }],
  'delete-captured-emails': ['DELETE', '/public/emails/captured'],
  'admin-suspend': ['POST', '/admin/suspensions', SUSPENSION],
  'admin-resume': ['DELETE', '/admin/suspensions', SUSPENSION],
  'admin-block-link': ['POST', '/admin/blocked-links', { link: 'https://phish.example/' }],
  'admin-unblock-link': ['DELETE', '/admin/blocked-links', { link: 'https://phish.example/' }],
  'admin-drain-node': ['POST', '/admin/nodes/mail-1/drain'],
  'admin-undrain-node': ['POST', '/admin/nodes/mail-1/undrain'],
  'admin-forget-node': ['DELETE', '/admin/nodes/mail-1'],
  'admin-set-plan-retention': ['PUT', '/admin/retention/plans/launch', { bodies_days: 60 }],
  'admin-unset-plan-retention': ['DELETE', '/admin/retention/plans/launch'],
  'admin-set-workspace-retention': ['PUT', '/admin/retention/workspaces/:id', { events_days: 60 }],
  'admin-unset-workspace-retention': ['DELETE', '/admin/retention/workspaces/:id'],
  'admin-create-workspace': ['POST', '/admin/workspaces', { name: 'Another' }],
  'admin-change-workspace': ['PATCH', '/admin/workspaces/:id', { name: 'Renamed', plan: 'custom' }],
  'admin-create-key': ['POST', '/admin/workspaces/:id/keys', { name: 'K' }],
  'admin-deactivate-key': ['DELETE', '/admin/keys/:key'],
  'admin-trust-domain': ['POST', '/admin/workspaces/:id/domains/:domain/trust'],
  'admin-add-source': [
    'POST',
    '/admin/sources',
    { name: 'out1', address: '192.0.2.10', ehlo_name: 'out1.example.net' },
  ],
  'admin-pause-source': ['POST', '/admin/sources/out1/pause'],
  'admin-resume-source': ['POST', '/admin/sources/out1/resume'],
  'admin-begin-warm-up-source': ['POST', '/admin/sources/out1/begin-warm-up'],
  'admin-end-warm-up-source': ['POST', '/admin/sources/out1/end-warm-up'],
  'admin-add-pool': ['POST', '/admin/pools', { name: 'news' }],
  'admin-join-pool': ['PUT', '/admin/pools/news/sources/out1', { weight: 2 }],
  'admin-leave-pool': ['DELETE', '/admin/pools/news/sources/out1'],
  'admin-remove-pool': ['DELETE', '/admin/pools/news'],
  'admin-remove-source': ['DELETE', '/admin/sources/out1'],
  'admin-set-tls-rule': ['PUT', '/admin/tls-rules/bank.example', { level: 'required' }],
  'admin-unset-tls-rule': ['DELETE', '/admin/tls-rules/bank.example'],
  'admin-use-pool': ['POST', '/admin/pools/use', { pool: 'fast' }],
  'admin-acknowledge-notice': ['POST', '/admin/notices/acknowledge', { all: true }],
  'admin-retry-mail': ['POST', '/admin/queue/retry', { domain: 'slow.example' }],
  'admin-drop-mail': ['POST', '/admin/queue/drop', { domain: 'slow.example' }],
  'admin-bounce-mail': ['POST', '/admin/queue/bounce', { domain: 'slow.example' }],
  'admin-invite-user': ['POST', '/admin/users/invite', { email: 'bert@people.example', is_operator: true }],
  'admin-revoke-invitation': ['DELETE', `/admin/invitations/${INVITATION_ID}`],
  'admin-reset-password': ['POST', '/admin/users/anna@people.example/reset-password'],
  'admin-reset-second-factors': ['POST', '/admin/users/anna@people.example/reset-second-factors'],
  'admin-disable-user': ['POST', '/admin/users/anna@people.example/disable'],
  'admin-enable-user': ['POST', '/admin/users/anna@people.example/enable'],
  'admin-change-user': ['PATCH', '/admin/users/anna@people.example', { name: 'Anna Berg' }],
  'admin-delete-user': ['DELETE', '/admin/users/anna@people.example'],
  'admin-dry-run': ['POST', '/admin/dry-run', { from: 'a@b.example', to: 'c@d.example' }],
  'admin-review-suppressions': ['POST', '/admin/suppression-reviews', { lift: true }],
}

describe('the audit log', () => {
  let api: TestApi
  let keyId: string
  before(async () => {
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1', RDAP_URL: 'none' })
    const captured = { mailFrom: '', headerFrom: null, subject: 's', messageId: newId(), tls: null, dkim: [] }
    await storeCapturedMail(api.db, { ...captured, raw: Buffer.from('x') }, ['a@b.example'], new Date())
    await api.db.query('UPDATE sandbox_inbox SET workspace_id = $1', [api.workspaceId])
    const { userId } = await addPerson(api, { email: 'anna@people.example' })
    await api.db.query(
      `INSERT INTO login_methods (id, user_id, kind, secret) VALUES (gen_random_uuid(), $1, 'recovery_codes', '')`,
      [userId],
    )
    const invited = { email: 'carl@people.example', workspaceId: null, role: null, isOperator: true, invitedBy: null }
    const { id } = await api.db.transaction((tx) => storeInvitation(tx, invited))
    await api.db.query('UPDATE invitations SET id = $2 WHERE id = $1', [id, INVITATION_ID])
    await api.db.query(`INSERT INTO nodes (name) VALUES ('mail-1')`)
    await api.db.query(`INSERT INTO egress_pools VALUES ('fast', now())`)
    const { workspaceId, domainId } = api
    const key = await createKey(api.db, { kind: 'regular', prefix: 'ms', workspaceId, name: 'old', domainId })
    assert.ok(key.kind === 'created')
    keyId = key.id
    await api.db.query(
      `INSERT INTO operator_notices VALUES (gen_random_uuid(), 'outage', 'x', 'text', 1, now(), now(), NULL, NULL)`,
    )
  })
  after(() => api.stop())

  const asAdmin = (method: string, path: string, call: TestCall = {}): Promise<TestResponse> =>
    api.call(method, path, { key: path.startsWith('/admin') ? OPERATOR_TOKEN : api.admin, ...call })
  const placeOf = (path: string): string =>
    path.replace(':id', api.workspaceId).replace(':key', keyId).replace(':domain', api.domainId)
  async function entriesOf(action: string, path = '/admin/audit-log'): Promise<Json[]> {
    const { status, body } = await asAdmin('GET', `${path}?action=${encodeURIComponent(action)}`)
    assert.strictEqual(status, 200)
    return listOf(body['data']?.['entries'])
  }

  it('has a request for every changing route, and a reason for each that writes no entry', () => {
    const names = new Set(ROUTES.map(({ name }) => name))
    for (const name of [...Object.keys(NOT_AUDITED), ...Object.keys(REQUESTS)]) assert.ok(names.has(name), name)
    // those of people: api/people-audit.test.ts
    const missing = ROUTES.filter((spec) => isAudited(spec) && !isPersonal(spec)).filter(
      ({ name }) => REQUEST_SAMPLES[name] === undefined && REQUESTS[name] === undefined,
    )
    assert.deepEqual(
      missing.map(({ name }) => name),
      [],
      'add them to REQUESTS, or to NOT_AUDITED with a reason',
    )
  })

  for (const [name, [method, path, body]] of Object.entries(REQUESTS))
    it(`has an entry of ${name}`, async () => {
      const sent = name === 'admin-use-pool' ? { ...body, workspace: api.workspaceId } : body
      const answer = await asAdmin(method, placeOf(path), {
        body: sent,
        headers: { 'x-operator': 'anna', 'x-request-id': name },
      })
      assert.ok(answer.status < 300 || name === 'admin-dry-run', `${answer.status} ${JSON.stringify(answer.body)}`)
      const [entry] = await entriesOf(name)
      assert.ok(entry !== undefined, 'no entry')
      assert.deepEqual([entry['actor']?.['type'], entry['request_id'], entry['ip_address']], [
        path.startsWith('/admin') ? 'operator' : 'key',
        name,
        '127.0.0.1',
      ] as unknown[] as Json[])
      if (path.startsWith('/admin')) assert.strictEqual(textOf(entry['actor']?.['id']), 'anna')
    })

  it('has what was before and after: only what changed', async () => {
    const made = await asAdmin('POST', '/public/audiences/add-audience', { body: { name: 'Old', description: 'd' } })
    const id = textOf(made.body['data']?.['id'])
    await asAdmin('PATCH', `/public/audiences/update-audience?id=${id}`, { body: { name: 'New' } })
    await asAdmin('PATCH', `/public/audiences/update-audience?id=${id}`, { body: { name: 'New' } })
    const { body } = await asAdmin('GET', `/public/audit-log?object_id=${id}`)
    const seen = listOf(body['data']?.['entries']).map((entry) => [entry['change'], entry['before'], entry['after']])
    assert.deepEqual(seen, [
      ['update', { name: 'Old' }, { name: 'New' }],
      ['create', null, { name: 'Old', description: 'd', is_double_opt_in: false, deleted_at: null }],
    ] as unknown[] as Json[][])
  })

  it('writes no entry for a request that is refused, or changes nothing', async () => {
    const { rows } = await api.db.query<{ n: number }>('SELECT count(*) AS n FROM audit_log')
    await asAdmin('POST', '/public/audiences/add-audience', { body: { name: '' } })
    await asAdmin('DELETE', `/public/audiences/delete-audience?id=${api.workspaceId}`)
    await api.call('POST', '/public/audiences/add-audience', { key: null, body: { name: 'A' } })
    assert.deepEqual((await api.db.query('SELECT count(*) AS n FROM audit_log')).rows, rows)
  })

  it('contains no secret, and shows that one was changed', async () => {
    const hook = await asAdmin('POST', '/public/webhooks', { body: { url: URL_WITH_SECRETS, events: '*' } })
    const id = textOf(hook.body['data']?.['id'])
    const rotated = await asAdmin('POST', `/public/webhooks/${id}/rotate-secret`)
    const key = await asAdmin('POST', '/public/domains/api-keys/create', {
      body: { name: 'K', custom_domain_id: api.domainId },
    })
    const account = { host: 'smtp.example.com', username: 'me', password: SECRETS.password }
    await asAdmin('POST', '/public/accounts', { body: account })
    const steps = [{ type: 'webhook', url: URL_WITH_SECRETS }]
    const automation = { name: 'A', trigger_type: 'manual', steps }
    const saved = await asAdmin('POST', '/public/automations/create', { body: automation })
    for (const { status } of [hook, rotated, key, saved]) assert.isBelow(status, 300)

    const { rows } = await api.db.query<{ text: string }>('SELECT to_jsonb(l)::text AS text FROM audit_log l')
    const all = rows.map(({ text }) => text).join('\n')
    const secretKey = textOf(key.body['data']?.['api_key']?.['secret_key'] ?? key.body['data']?.['secret_key'])
    const webhookSecrets = [hook, rotated].map(({ body }) => textOf(body['data']?.['secret']))
    for (const secret of [...Object.values(SECRETS), ...webhookSecrets, secretKey.split('_').at(-1) ?? ''])
      assert.ok(!all.includes(secret), secret)
    assert.notMatch(all, /\\\\x[0-9a-f]/, 'no bytes, encrypted or hashed')
    assert.match(all, /https:\/\/hooks\.example\/…/)
    const [entry] = await entriesOf('rotate-webhook-secret', '/public/audit-log')
    assert.strictEqual(textOf(entry?.['after']?.['secret']), '(hidden)')
  })

  it('shows a workspace its own entries only, without the name and address of the operator', async () => {
    const other = await api.addTenant()
    await api.call('POST', '/public/audiences/add-audience', { key: other.admin, body: { name: 'theirs' } })
    const { body } = await asAdmin('GET', '/public/audit-log?limit=1000')
    const entries = listOf(body['data']?.['entries'])
    assert.ok(entries.every((entry) => textOf(entry['workspace_id']) === api.workspaceId))
    const operator = entries.find((entry) => textOf(entry['action']) === 'admin-use-pool')
    assert.deepEqual([operator?.['actor'], operator?.['ip_address']], [
      { type: 'operator', id: null, name: null },
      null,
    ] as unknown[] as Json[])
    const first = await asAdmin('GET', '/public/audit-log?limit=2')
    const second = await asAdmin('GET', `/public/audit-log?limit=2&cursor=${textOf(first.body['data']?.['next'])}`)
    const paged = [first, second].flatMap((page) => listOf(page.body['data']?.['entries']))
    assert.deepEqual(paged, entries.slice(0, 4))
  })

  it('keeps many rows of one statement as one entry, and follows the transaction', async () => {
    const actor: Actor = {
      kind: 'cli',
      name: 'root@host',
      action: 'many',
      workspaceId: api.workspaceId,
      address: null,
      requestId: null,
    }
    const db = api.db.attributedTo(actor)
    const insert = sql`
      INSERT INTO suppressions (workspace_id, address, cause)
      SELECT $1, n || '@many.example', 'x'
      FROM generate_series(1, 101) n
    `
    const failed = db.transaction(async (tx) => {
      await tx.query(insert, [api.workspaceId])
      await recordChange(tx, {
        ...actor,
        kind: 'mail',
        object: 'm',
        change: 'update',
        before: null,
        after: { a: 1 },
        workspaceId: api.workspaceId,
      })
      throw new Error('rolled back')
    })
    await assert.isRejected(failed, /rolled back/)
    assert.deepEqual(await entriesOf('many'), [])
    await db.query(insert, [api.workspaceId])
    const [entry, ...rest] = await entriesOf('many')
    assert.deepEqual([entry?.['object'], entry?.['after'], rest], [
      { type: 'suppression', id: '' },
      { rows: 101 },
      [],
    ] as unknown[] as Json[])
  })

  it('erases the values of a deleted contact, and keeps the entries', async () => {
    const list = await asAdmin('POST', '/public/audiences/add-audience', { body: { name: 'L' } })
    const audience = textOf(list.body['data']?.['id'])
    const email = 'erase-me@people.example'
    const made = await asAdmin('POST', '/public/contacts/add-contact', {
      body: { email, first_name: 'Erased', audience_id: audience },
    })
    const id = textOf(made.body['data']?.['id'])
    await asAdmin('DELETE', `/public/contacts/delete-contact?id=${id}`)
    const { body } = await asAdmin('GET', `/public/audit-log?object_type=contact&object_id=${id}`)
    const entries = listOf(body['data']?.['entries'])
    assert.deepEqual(
      entries.map((entry) => textOf(entry['change'])),
      ['delete', 'create'],
    )
    assert.notMatch(JSON.stringify(entries), /erase|Erased/i)
  })
})
