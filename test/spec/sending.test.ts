/** "Sending": each field of the body in every accepted form, what is stored, and what is refused. */
import { assert } from 'chai'
import { TIERS, type Tier } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'
import { listOf, startApi, textOf, type Json, type TestResponse, type TestApi } from '#test/support/api.ts'

interface Stored {
  readonly from: string
  readonly recipients: readonly string[]
  readonly reply: string | null
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
}

const STORED = sql`
  SELECT coalesce(from_name || ' ', '') || from_email AS "from", reply_to->>'email' AS reply, subject, b.html,
    b.body_text AS text,
    (SELECT array_agg(kind || ' ' || address ORDER BY n) FROM recipients r WHERE r.message_id = m.id) AS recipients
  FROM messages m
  JOIN message_bodies b ON b.message_id = m.id
  WHERE id = $1::uuid
`

type Row = readonly [row: string, body: object, stored: Partial<Stored>]
type Refused = readonly [row: string, body: object, field: string]

const A = 'to a@b.example'
const C = 'to c@d.example'

/** `@@` stands for the domain of the key, `#` for the id of a template. */
const ROWS: readonly Row[] = [
  ['to: string[]', { to: ['a@b.example', 'c@d.example'] }, { recipients: [A, C] }],
  [
    'to: an array of objects with an email field',
    { to: [{ email: 'a@b.example' }, { email: 'c@d.example', name: 'C' }] },
    { recipients: [A, C] },
  ],
  ['to: one string', { to: 'a@b.example' }, { recipients: [A] }],
  ['to: a comma-separated string', { to: 'a@b.example, c@d.example' }, { recipients: [A, C] }],
  ['to: Name <a@b>', { to: ['Anna <a@b.example>'] }, { recipients: [A] }],
  ['to: duplicates are sent once', { to: ['a@b.example', 'a@b.example'] }, { recipients: [A] }],
  ['cc: string[]', { cc: ['e@f.example'] }, { recipients: [A, 'cc e@f.example'] }],
  ['cc: one string', { cc: 'e@f.example' }, { recipients: [A, 'cc e@f.example'] }],
  ['bcc: an object', { bcc: { email: 'e@f.example' } }, { recipients: [A, 'bcc e@f.example'] }],
  ['subject', { subject: 'Grüße' }, { subject: 'Grüße' }],
  ['body: plain text', { body: '1 < 2' }, { html: null, text: '1 < 2' }],
  ['body: HTML is detected', { body: '<p>x</p>' }, { html: '<p>x</p>' }],
  ['is_html: true overrules detection', { body: 'x', is_html: true }, { html: 'x' }],
  ['is_html: false overrules detection', { body: '<p>x</p>', is_html: false }, { html: null, text: '<p>x</p>' }],
  ['html', { body: undefined, html: '<p>x</p>' }, { html: '<p>x</p>' }],
  ['text', { body: undefined, text: 'x' }, { html: null, text: 'x' }],
  ['html and text together', { body: undefined, html: '<p>x</p>', text: 'y' }, { html: '<p>x</p>', text: 'y' }],
  ['from: Name <a@b>', { from: 'Shop <me@@>' }, { from: 'Shop me@@' }],
  ['from: an object', { from: { email: 'me@@', name: 'Shop' } }, { from: 'Shop me@@' }],
  ['from_name', { from_name: 'Shop' }, { from: 'Shop me@@' }],
  ['fromName', { fromName: 'Shop' }, { from: 'Shop me@@' }],
  ['reply_to: string', { reply_to: 'r@r.example' }, { reply: 'r@r.example' }],
  ['reply_to: an object', { reply_to: { email: 'r@r.example', name: 'R' } }, { reply: 'r@r.example' }],
  ['reply_to: true is the address of the workspace', { reply_to: true }, { reply: 'replies@workspace.example' }],
  ['reply_to: false', { reply_to: false }, { reply: null }],
  [
    'template_id with params',
    { template_id: '#', params: { name: 'Anna' }, subject: undefined, body: undefined },
    { subject: 'Hello Anna', html: '<p>Anna</p>' },
  ],
  [
    'template_id with template_data',
    { template_id: '#', template_data: { name: 'Bob' }, subject: undefined, body: undefined },
    { subject: 'Hello Bob' },
  ],
  ['template_id with a subject: it wins', { template_id: '#', subject: 'Mine', body: undefined }, { subject: 'Mine' }],
  ['unknown fields are ignored', { colour: 'red' }, { subject: 's' }],
]

const REFUSED: readonly Refused[] = [
  ['to is required', { to: undefined }, 'to'],
  ['to: no address', { to: ['nonsense'] }, 'to.0'],
  ['subject is required without template_id', { subject: undefined }, 'subject'],
  ['body is required without template_id', { body: undefined }, 'body'],
  ['from is required', { from: undefined }, 'from'],
  ['template_id and body together', { template_id: '#' }, 'template_id'],
  ['cc: no address', { cc: 'x' }, 'cc'],
  ['params: an object', { params: 5 }, 'params'],
]

/** The table of tiers. */
const TIER_ROWS: readonly (readonly [tier: Tier, endpoint: string, target: string, retries: number])[] = [
  ['instant', 'instant', '0-5 seconds', 5],
  ['high', 'high', '0-30 seconds', 3],
  ['normal', 'async', '0-5 minutes', 3],
  ['bulk', 'bulk', 'when the queue is idle', 3],
]

describe('specification: sending', () => {
  let api: TestApi
  let template: string
  before(async () => {
    api = await startApi()
    await api.db.query(`UPDATE workspaces SET reply_to = 'replies@workspace.example' WHERE id = $1`, [api.workspaceId])
    const { body } = await api.call('POST', '/templates/save', {
      body: { name: 't', subject: 'Hello {{name}}', body: '<p>{{name}}</p>' },
    })
    template = textOf(body['data']?.['id'])
  })
  after(() => api.stop())

  const fill = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replaceAll('@@', `@${api.domain}`).replaceAll('"#"', `"${template}"`)) as T
  const send = (fields: object, path = 'instant'): Promise<TestResponse> =>
    api.call('POST', `/send-email/${path}`, {
      body: fill({ from: 'me@@', to: ['a@b.example'], subject: 's', body: 'x', ...fields }),
    })

  for (const [row, body, stored] of ROWS) {
    it(row, async () => {
      const answer = await send(body)
      assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
      const { rows } = await api.db.query<Stored>(STORED, [textOf(answer.body['email_id']).slice(3)])
      for (const [field, value] of Object.entries(fill(stored)))
        assert.deepEqual(rows[0]?.[field as keyof Stored], value, field)
    })
  }
  for (const [row, body, field] of REFUSED) {
    it(`400 VALIDATION_ERROR: ${row}`, async () => {
      const { status, body: answer } = await send(body)
      assert.deepEqual([status, answer['error']], [400, 'VALIDATION_ERROR'])
      const paths = listOf(answer['details']).map((detail) => textOf(detail['path']))
      assert.ok(
        paths.some((path) => path.startsWith(field)),
        paths.join(),
      )
    })
  }
  for (const id of ['00000000-0000-7000-8000-000000000000', 'nonsense'])
    it(`400 INVALID_TEMPLATE: ${id} is not found`, async () => {
      const { status, body } = await send({ template_id: id, subject: undefined, body: undefined })
      assert.deepEqual([status, body['error']], [400, 'INVALID_TEMPLATE'])
    })

  for (const [tier, endpoint, target, retries] of TIER_ROWS) {
    it(`tier ${tier}: POST /send-email/${endpoint}, ${target}, ${retries} retries`, async () => {
      const { status, body } = await send({}, endpoint)
      assert.strictEqual(status, 200)
      const metadata = body['metadata'] as Json
      assert.deepEqual([metadata['priority'], metadata['estimated_delivery'], body['queue']], [tier, target, endpoint])
      assert.strictEqual(TIERS[tier].retries, retries)
    })
  }
})
