import { assert } from 'chai'
import { describeEvent } from './event-description.ts'

describe('descriptions of events', () => {
  const cases: readonly [object | null, string | null][] = [
    [null, null],
    [{}, null],
    [{ code: 250, reply: '2.6.0 Ok' }, '250 2.6.0 Ok'],
    [{ code: 250, reply: '250 2.6.0 Ok' }, '250 2.6.0 Ok'],
    [{ url: 'https://example.com/', machine: false }, 'https://example.com/'],
    [{ reason: 'mailbox-full', message: '452 4.2.2 Full', code: 452, tries: 2 }, '452 4.2.2 Full'],
    [
      { bounce_type: 'hard', bounce_code: '5.1.1', bounce_class: 'bad-mailbox', bounce_message: 'No such user' },
      '5.1.1 No such user (hard, bad-mailbox)',
    ],
    [{ reply: { nested: true } }, null],
  ]
  for (const [data, expected] of cases)
    it(JSON.stringify(data), () => assert.strictEqual(describeEvent(data as Record<string, unknown> | null), expected))
})
