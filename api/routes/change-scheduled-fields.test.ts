/** Changing every field of a scheduled message: what is stored, raised and recorded. */
import { assert } from 'chai'
import { createKey } from '#src/auth/keys.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { startApi, type TestApi, type TestResponse } from '#test/support/api.ts'
import { CHANGE_LIMITS, DAY_MS, FILE, inMs, scheduledScene, type Row } from './change-scheduled.test-data.ts'

const OTHER_DOMAIN = 'other-sender.example'

describe('changing the fields of a scheduled message', () => {
  let api: TestApi
  before(async () => {
    api = await startApi(CHANGE_LIMITS)
  })
  after(() => api.stop())
  const { change, changed, plan, stored, messageOf, recipientsOf, eventsOf } = scheduledScene(() => api)

  const FIELDS: readonly (readonly [what: string, body: object, column: string, expected: unknown])[] = [
    ['tags', { tags: ['new', { name: 'a', value: 'b' }] }, 'tags', ['new', 'a:b']],
    ['no tags', { tags: [] }, 'tags', null],
    ['metadata', { metadata: { new: 2 } }, 'metadata', { new: 2 }],
    ['headers', { headers: { 'X-New': '2' } }, 'headers', [['X-New', '2']]],
    ['no headers', { headers: {} }, 'headers', null],
    ['reply-to', { reply_to: 'R <n@b.example>' }, 'reply_to', { email: 'n@b.example', name: 'R' }],
    ['no reply-to', { reply_to: false }, 'reply_to', null],
    ['tracking of opens', { track_opens: true }, 'track_opens', true],
    ['tracking of clicks', { track_clicks: false }, 'track_clicks', false],
    ['no expiry', { expires_at: '' }, 'expires_at', null],
    ['the priority', { priority: 'high' }, 'tier', 'high'],
    ['the name of From', { from_name: 'You' }, 'from_name', 'You'],
    ['the subject', { subject: 'New' }, 'subject', 'New'],
    ['the body', { html: '<p>new</p>' }, 'html', '<p>new</p>'],
  ]
  for (const [what, body, column, expected] of FIELDS)
    it(`changes ${what} and nothing else`, async () => {
      const id = await plan()
      const before = await stored(id)
      await changed(id, body)
      const after = await stored(id)
      assert.deepEqual((after['message'] as Row)[column], expected)
      const others = { html: ['body_text', 'content_size'] }[column] ?? []
      for (const [name, value] of Object.entries(before['message'] as Row))
        if (name !== column && !others.includes(name)) assert.deepEqual((after['message'] as Row)[name], value, name)
      assert.deepEqual(after['attachments'], before['attachments'])
      assert.deepEqual(after['events'], before['events'])
      assert.deepEqual(after['used'], before['used'])
      if (column === 'tags') assert.deepEqual(after['tags'], expected === null ? null : ['a:b', 'new'])
    })
  it('changes the sender to another address of the key only', async () => {
    const id = await plan()
    await changed(id, { from: `Other <other@${api.domain}>` })
    const { from_email, from_name } = await messageOf(id)
    assert.deepEqual([from_email, from_name], [`other@${api.domain}`, 'Other'])
    const before = await stored(id)
    const refused = await change(id, { from: 'x@else.example', subject: 'New' })
    assert.deepEqual([refused.status, refused.body['error']] as unknown[], [403, 'FORBIDDEN'])
    assert.deepEqual(await stored(id), before)
  })
  describe('with the key of another sender of the workspace', () => {
    let stranger: string
    before(async () => {
      stranger = await addSenderKey(api)
    })
    const REFUSED: readonly (readonly [what: string, body: object])[] = [
      ['the subject', { subject: 'New' }],
      ['the text', { html: '<p>new</p>' }],
      ['the attachments', { attachments: [FILE] }],
      ['the reply address', { reply_to: 'x@else.example' }],
      ['the time', { scheduled_at: inMs(2 * DAY_MS) }],
      ['the recipients', { to: ['x@b.example'] }],
      ['the sender to its own', { from: `me@${OTHER_DOMAIN}` }],
    ]
    for (const [what, body] of REFUSED)
      it(`cannot change ${what}`, async () => {
        const id = await plan()
        const before = await stored(id)
        const refused = await change(id, body, stranger)
        assert.deepEqual([refused.status, refused.body['error']] as unknown[], [403, 'FORBIDDEN'])
        assert.deepEqual(await stored(id), before)
      })
    it('cannot cancel it, also not after it was cancelled', async () => {
      const id = await plan()
      const cancel = async (key: string): Promise<unknown[]> => {
        const { status, body } = await api.call('DELETE', `/send-email/schedule/${id}`, { key })
        return [status, body['error']]
      }
      assert.deepEqual(await cancel(stranger), [403, 'FORBIDDEN'])
      assert.deepEqual(await cancel(api.regular), [200, undefined])
      assert.deepEqual(await cancel(stranger), [403, 'FORBIDDEN'])
    })
  })
  it('replaces and removes the attachments', async () => {
    const id = await plan()
    await changed(id, { attachments: [FILE] })
    const { attachments } = await stored(id)
    const { has_attachments, content_size } = await messageOf(id)
    assert.deepEqual([attachments, has_attachments, content_size], [[['b.txt', 'new file']], true, 9])
    await changed(id, { attachments: [] })
    const without = await messageOf(id)
    assert.deepEqual([without['has_attachments'], without['content_size']], [false, 1])
  })

  it('adds, moves and cancels recipients, each with its events, and counts the difference', async () => {
    const id = await plan()
    const { used } = await stored(id)
    await changed(id, { to: ['Ann <A@b.example>', 'd@b.example'], cc: ['e@b.example', 'f@b.example'], bcc: [] })
    assert.deepEqual(await recipientsOf(id), [
      'to A@b.example scheduled',
      'cc c@b.example cancelled',
      'to d@b.example scheduled',
      'cc e@b.example scheduled',
      'cc f@b.example scheduled',
    ])
    assert.deepEqual(await eventsOf(id), [
      [1, 'email.scheduled', 'a@b.example'],
      [2, 'email.scheduled', 'c@b.example'],
      [3, 'email.scheduled', 'd@b.example'],
      [4, 'email.scheduled', 'e@b.example'],
      [5, 'email.scheduled', 'f@b.example'],
      [6, 'email.cancelled', 'c@b.example'],
    ])
    const after = await stored(id)
    const { to_list, cc_list, recipient_count } = after['message'] as Row
    assert.deepEqual(to_list, [
      { name: 'Ann', email: 'A@b.example' },
      { name: null, email: 'd@b.example' },
    ])
    assert.deepEqual(
      (cc_list as Row[]).map(({ email }) => email),
      ['e@b.example', 'f@b.example'],
    )
    assert.deepEqual([recipient_count, after['used']], [4, Number(used) + 1])
  })
  it('one recipient becomes several and one again; one that was removed can be added again', async () => {
    const id = await plan({ cc: [], bcc: [] })
    await changed(id, { cc: 'c@b.example' })
    await changed(id, { to: 'x@b.example', cc: [] })
    await changed(id, { bcc: ['c@b.example'] })
    assert.deepEqual(await recipientsOf(id), [
      'to a@b.example cancelled',
      'cc c@b.example cancelled',
      'to x@b.example scheduled',
      'bcc c@b.example scheduled',
    ])
    assert.deepEqual(await eventsOf(id), [
      [1, 'email.scheduled', 'a@b.example'],
      [2, 'email.scheduled', 'c@b.example'],
      [3, 'email.scheduled', 'x@b.example'],
      [4, 'email.cancelled', 'a@b.example'],
      [5, 'email.cancelled', 'c@b.example'],
      [6, 'email.scheduled', 'c@b.example'],
    ])
    const { used } = await stored(id)
    assert.strictEqual((await api.call('DELETE', `/send-email/schedule/${id}`)).status, 200)
    const after = await stored(id)
    assert.strictEqual(after['used'], Number(used) - 2)
    assert.ok((await recipientsOf(id)).every((one) => one.endsWith('cancelled')))
  })
  it('a new recipient that is suppressed gets nothing; one that no longer is, is added', async () => {
    const tenant = await api.addTenant()
    const suppress = (email: string): Promise<TestResponse> =>
      api.call('POST', '/public/suppressions/import', { key: tenant.admin, body: { emails: [email] } })
    await suppress('gone@b.example')
    await suppress('back@b.example')
    const id = await plan({ cc: 'back@b.example', bcc: [] }, tenant)
    await api.db.query('DELETE FROM suppressions WHERE workspace_id = $1 AND address = $2', [
      tenant.workspaceId,
      'back@b.example',
    ])
    const answer = await change(id, { cc: ['back@b.example', 'gone@b.example'] }, tenant.regular)
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    assert.deepEqual(await recipientsOf(id), [
      'to a@b.example scheduled',
      'cc back@b.example suppressed',
      'cc back@b.example scheduled',
      'cc gone@b.example suppressed',
    ])
    const events = (await eventsOf(id)) as unknown[][]
    assert.deepEqual(events.slice(2), [
      [3, 'email.scheduled', 'back@b.example'],
      [4, 'email.failed', 'gone@b.example'],
    ])
  })

  it('is recorded with what changed', async () => {
    const id = await plan()
    await changed(id, { subject: 'New', cc: ['n@b.example'], attachments: [FILE], headers: {} })
    const { body } = await api.call('GET', '/public/audit-log?limit=1', { key: api.admin })
    const [entry] = (body['data'] as unknown as { entries: Row[] }).entries
    const { changed: names, recipients_added, recipients_removed, subject } = (entry?.['after'] ?? {}) as Row
    assert.deepEqual(
      [names, recipients_added, recipients_removed, subject],
      [['headers', 'to_list', 'cc_list', 'attachments'], ['n@b.example'], ['c@b.example'], 'New'],
    )
  })
})

/** A Regular key of another verified domain of the same workspace. */
async function addSenderKey({ db, workspaceId }: TestApi): Promise<string> {
  const domainId = newId()
  await db.query(
    sql`
      INSERT INTO domains (id, workspace_id, domain, verification_status, verified_at)
      VALUES ($1, $2, $3, 'verified', now())
    `,
    [domainId, workspaceId, OTHER_DOMAIN],
  )
  const key = await createKey(db, { kind: 'regular', prefix: 'ms', workspaceId, name: 'other', domainId })
  return key.kind === 'created' ? key.secretKey : assert.fail(key.kind)
}
