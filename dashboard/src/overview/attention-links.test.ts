import { assert } from 'chai'
import { findAttention } from '#src/workspaces/attention.ts'
import { overview } from '#dashboard/src/texts/en/overview.ts'
import { attentionLink } from './attention-links.ts'

const OBJECT_KINDS = [
  'domain-pending',
  'domain-degraded',
  'domain-failed',
  'account-paused',
  'webhook-disabled',
  'campaign-paused',
  'campaign-failed',
  'campaign-sending',
  'campaign-sent',
  'campaign-scheduled',
  'key-expires',
]
const LIMITS = { bounceShare: 0.05, complaintShare: 0.001, minimum: 10, quota: 100 }
const FACTS = { suspension: 'too many bounces', delivered: 100, hard: 50, complaints: 5 }

/** What the server can find, all at once. */
const FOUND = [
  ...findAttention(
    { ...FACTS, used: 90, objects: OBJECT_KINDS.map((kind) => ({ kind, id: 'id-1', name: 'name', detail: '' })) },
    LIMITS,
  ),
  ...findAttention({ ...FACTS, used: 100, objects: [] }, LIMITS),
]

describe('dashboard: what needs attention', () => {
  it('the server finds each kind of the test', () => {
    assert.lengthOf(new Set(FOUND.map(({ kind }) => kind)), OBJECT_KINDS.length + 5)
  })

  for (const item of FOUND)
    it(`${item.kind} has a text and leads to where it is put right`, () => {
      assert.property(overview.attentionKinds, item.kind)
      const link = attentionLink(item)
      assert.match(link?.path ?? '', /^\/[a-z]+/)
      if (item.object !== null) assert.include(JSON.stringify(link), 'id-1')
    })

  it('an unknown kind has no link', () => {
    assert.isNull(attentionLink({ kind: 'new', object: null }))
    assert.isNull(attentionLink({ kind: 'new', object: { type: 'new', id: 'id-1', name: '' } }))
  })
})
