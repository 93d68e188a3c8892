import { assert } from 'chai'
import { readShaping } from '#src/shaping/shaping-file.ts'
import type { ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import { paceWith } from '#test/support/throttle.ts'
import { createReplies, type ReplyMeans } from './reply-effects.ts'

const FILE = `receivers:
  transport-map: {connections: 20, messages_per_connection: 1000}
  default: {connections: 10, messages_per_connection: 100}
rules:
  - {name: stop, code: 421, text: stop, action: suspend, for: 2h}
  - {name: stop-one, code: 421, text: not you, action: suspend, for: 1h, of: workspace}
  - {name: stop-all, code: 554, text: listed, action: suspend, for: 1h, of: source}
  - {name: slow, code: 421, text: too many, action: slow}
  - {name: tell, code: 550, text: ptr, action: tell}
`

/** What was done, in the order of the replies: what is suspended or learned, for whom, and who was told. */
const CASES: readonly [replies: readonly string[], done: readonly string[]][] = [
  [['250 fine', '450 busy', '550 no such user'], []],
  [
    ['421 stop it', '421 stop it'],
    ['learned 1', 'default/mx.test for all until 7200'],
  ],
  [['421 not you'], ['default/mx.test for w1 until 3600']],
  [['554 listed'], ['learned 1', '* for all until 3600']],
  [['421 too many', '421 too many'], ['learned 5']],
  [
    ['550 no PTR', '550 no PTR'],
    ['notice reply default/mx.test tell', 'told tell', 'notice reply default/mx.test tell'],
  ],
  [['550 too many'], []],
]

describe('what replies do to a pace', () => {
  for (const [replies, done] of CASES) {
    it(replies.join(', '), () => {
      const read = readShaping(FILE)
      assert.ok(read.kind === 'shaping')
      const found: string[] = []
      const known: ReceiverSuspension[] = []
      const now = 1_000_000
      const log = {
        info: () => undefined,
        warn: (facts: { rule: string }, text: string) => {
          if (text.includes('operator')) found.push(`told ${facts.rule}`)
        },
      }
      const pace = paceWith({ share: { instant: 0, others: 8 } })
      const heard = createReplies({
        ctx: { clock: { now: () => now }, config: { retryScale: 1 }, log } as unknown as ReplyMeans['ctx'],
        shaping: { current: read.shaping },
        suspensions: {
          find: (key, _, owner) => known.find((one) => one.pace === key && one.workspaceId === owner) ?? null,
          add: (one) => {
            known.push(one)
            found.push(`${one.pace} for ${one.workspaceId ?? 'all'} until ${(one.until.getTime() - now) / 1000}`)
          },
        },
        notices: { raise: ({ kind, subject }) => found.push(`notice ${kind} ${subject}`) },
        learn: (one, learned) => {
          one.learned = learned
          found.push(`learned ${learned.connections}`)
        },
      })
      for (const text of replies)
        heard.hear(pace, { code: Number(text.slice(0, 3)), enhanced: null, text: text.slice(4), lines: [text] }, 'w1')
      assert.deepEqual(found, done)
    })
  }
  it('mail that is taken is counted', () => {
    const pace = paceWith({ share: { instant: 0, others: 8 } })
    createReplies({} as unknown as ReplyMeans).hear(
      pace,
      { code: 250, enhanced: null, text: 'ok', lines: ['250 ok'] },
      'w1',
    )
    assert.strictEqual(pace.deliveries, 1)
  })
})
