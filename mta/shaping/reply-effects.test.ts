import { assert } from 'chai'
import { readShaping } from '#src/shaping/shaping-file.ts'
import type { ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import { throttleWith } from '#test/support/throttle.ts'
import { createReplyEffects, type ReplyEffectDeps } from './reply-effects.ts'

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

/**
 * The effects of the replies, in order: limits learned, suspensions with their scope and end, notices and log lines.
 */
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
    ['notice reply default/mx.test tell', 'logged tell', 'notice reply default/mx.test tell'],
  ],
  [['550 too many'], []],
]

describe('effects of replies on a throttle', () => {
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
          if (text.includes('operator')) found.push(`logged ${facts.rule}`)
        },
      }
      const throttle = throttleWith({ share: { instant: 0, others: 8 } })
      const effects = createReplyEffects({
        ctx: { clock: { now: () => now }, config: { retryScale: 1 }, log } as unknown as ReplyEffectDeps['ctx'],
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
        effects.apply(
          throttle,
          { code: Number(text.slice(0, 3)), enhanced: null, text: text.slice(4), lines: [text] },
          'w1',
          null,
        )
      assert.deepEqual(found, done)
    })
  }
  it('accepted messages are counted', () => {
    const throttle = throttleWith({ share: { instant: 0, others: 8 } })
    createReplyEffects({} as unknown as ReplyEffectDeps).apply(
      throttle,
      { code: 250, enhanced: null, text: 'ok', lines: ['250 ok'] },
      'w1',
      null,
    )
    assert.strictEqual(throttle.acceptedMessages, 1)
  })
})
