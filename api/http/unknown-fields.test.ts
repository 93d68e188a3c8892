import { assert } from 'chai'
import { ROUTES } from '#api/table.ts'
import { findUnknownFields } from './unknown-fields.ts'

const bodyOf = (route: string): Parameters<typeof findUnknownFields>[0] => {
  const schema = ROUTES.find(({ name }) => name === route)?.body
  assert.ok(schema !== undefined, route)
  return schema
}
const found = (route: string, body: unknown): string[] =>
  findUnknownFields(bodyOf(route), body).map(({ path, message }) => `${path}: ${message}`)
const MEANT = (path: string, near: string): string => `${path}: is not a field of this request; did you mean ${near}?`
const UNKNOWN = (path: string): string => `${path}: is not a field of this request`

const MAIL = { from: { email: 'a@b.example', name: 'A' }, to: ['a@b.example'], subject: 's', html: 'x' }
const KNOWN: readonly (readonly [route: string, body: unknown])[] = [
  ['send-instant', MAIL],
  ['send-instant', { ...MAIL, metadata: { any: 1 }, params: { any: { thing: 1 } }, headers: { 'X-Any': '1' } }],
  ['send-instant', { ...MAIL, headers: [{ name: 'X', value: '1' }], tags: [{ name: 'a', value: 'b' }, 'c'] }],
  ['send-instant', { ...MAIL, attachments: [{ url: 'https://a.example', content_id: 'x' }] }],
  ['send-batch', { messages: [MAIL, MAIL], tier: 'high' }],
  ['send-batch', [MAIL]],
  ['schedule-email', { ...MAIL, scheduled_for: 'x', timezone: 'UTC', priority: 'high' }],
  ['schedule-email', { scheduled_at: 'x', email: { ...MAIL, timezone: 'UTC', scheduled_at: 'x' } }],
  ['add-contact', { email: 'a@b.example', audienceId: 'x', custom_attributes: { any: 1 }, name: 'A B' }],
  [
    'create-segment',
    {
      name: 'S',
      filter: {
        all: [
          { tag: 'a', has: true },
          { attribute: 'x', is: 1 },
        ],
      },
    },
  ],
  ['create-automation', { name: 'A', trigger_type: 'manual', steps: [{ type: 'delay', seconds: 5 }] }],
  ['send-instant', 'a text'],
  ['send-instant', null],
]
const MISSPELT: readonly (readonly [route: string, body: unknown, expected: readonly string[]])[] = [
  ['send-instant', { ...MAIL, subjct: 'x' }, [MEANT('subjct', 'subject')]],
  ['send-instant', { ...MAIL, replyTo: 'x', colour: 1 }, [MEANT('replyTo', 'reply_to'), UNKNOWN('colour')]],
  ['send-instant', { ...MAIL, to: [{ email: 'a@b.example', nmae: 'A' }] }, [MEANT('to.0.nmae', 'name')]],
  ['send-instant', { ...MAIL, attachments: [{}, { fileName: 'a' }] }, [MEANT('attachments.1.fileName', 'filename')]],
  [
    'send-batch',
    { messages: [MAIL, { ...MAIL, htlm: '' }], teir: 'x' },
    [MEANT('messages.1.htlm', 'html'), MEANT('teir', 'tier')],
  ],
  ['send-batch', [{ ...MAIL, htlm: '' }], [MEANT('0.htlm', 'html')]],
  ['schedule-email', { schedule_at: 'x', email: MAIL }, [MEANT('schedule_at', 'scheduled_at')]],
  ['send-instant', { ['x'.repeat(5000)]: 1 }, [UNKNOWN(`${'x'.repeat(60)}…`)]],
]

describe('unknown fields', () => {
  for (const [route, body] of KNOWN)
    it(`${route} has no unknown field in ${JSON.stringify(body).slice(0, 90)}`, () =>
      assert.deepEqual(found(route, body), []))
  for (const [route, body, expected] of MISSPELT)
    it(`${route}: ${expected.join(', ').slice(0, 90)}`, () => assert.deepEqual(found(route, body), expected))
  it('of a hostile request are few', () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`field${i}`, 1]))
    assert.strictEqual(found('send-instant', many).length, 20)
    assert.strictEqual(
      found(
        'send-batch',
        Array.from({ length: 500 }, () => many),
      ).length,
      20,
    )
  })
  it('of every route can be found', () => {
    for (const { name, body, query } of ROUTES)
      for (const schema of [body, query])
        if (schema !== undefined) assert.ok(findUnknownFields(schema, { '\u0000': [{}] }).length <= 1, name)
  })
})
