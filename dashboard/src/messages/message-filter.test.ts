/** The filter of the list of messages, from the address to the query. */
import { assert } from 'chai'
import { messageIdIn, toQuery } from './message-filter.ts'

const NOW = Date.parse('2026-11-26T12:00:30.000Z')

describe('filter of messages', () => {
  const cases: readonly [string, Record<string, string>, object][] = [
    ['nothing', {}, {}],
    ['unknown keys', { tab: 'x', status: '' }, {}],
    ['filters', { status: 'failed', tag: 'news' }, { status: 'failed', tag: 'news' }],
    ['a part of the subject', { q: ' your order ' }, { subject: 'your order' }],
    ['an address', { q: 'anna@example.com' }, { recipient: 'anna@example.com' }],
    ['a domain', { q: '@example.com' }, { recipient: 'example.com' }],
    ['an address without a domain', { q: 'anna@' }, { subject: 'anna@' }],
    [
      'an address beside a recipient',
      { q: 'a@b.example', recipient: 'c@d.example' },
      { subject: 'a@b.example', recipient: 'c@d.example' },
    ],
    ['a period, to the minute', { period: '24h' }, { after: '2026-11-25T12:00:00.000Z' }],
    ['a period instead of times', { period: '1h', before: 'x', after: 'y' }, { after: '2026-11-26T11:00:00.000Z' }],
    ['an unknown period', { period: 'toString' }, {}],
    ['times', { after: 'a', before: 'b' }, { after: 'a', before: 'b' }],
  ]
  for (const [name, search, expected] of cases) it(name, () => assert.deepEqual<object>(toQuery(search, NOW), expected))

  it('finds the id of a message in what was typed', () => {
    for (const id of [
      'em_01a21833dd257000a34acc8ad7459386',
      'msg_1795702381861_01a21833dd257000a34acc8ad7459386',
      'scheduled_msg_1795702305701_01a21832b3a57000a410d5902f61995f',
      '01a21833-dd25-7000-a34a-cc8ad7459386',
    ])
      assert.strictEqual(messageIdIn(` ${id} `), id)
    for (const text of ['', 'message', 'em_1', 'msg_', 'anna@example.com']) assert.isNull(messageIdIn(text))
  })
})
