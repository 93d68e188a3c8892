import { assert } from 'chai'
import fc from 'fast-check'
import { INSTALLATION } from './dimensions.ts'
import { repliesOf, withoutAddresses } from './receiver-replies.ts'
import type { EventGroup } from './tally.ts'

const NOW = Date.UTC(2031, 2, 1, 12)
const deferredAt = (ms: number): EventGroup['events'] =>
  ['email.queued', 'email.deferred'].map((type) => ({
    type,
    at: new Date(ms),
    isHard: false,
    isMachine: false,
    isFirst: false,
    isSuppressed: false,
  }))
const GROUP: EventGroup = {
  workspaceId: '01980000-0000-7000-8000-000000000000',
  events: deferredAt(NOW),
  class: 'policy',
  tier: 'bulk',
  domain: 'sender.example',
  tags: null,
  campaign: null,
  template: null,
  isAttempted: true,
  host: 'mx1.receiver.example',
  source: 'out1',
  isEncrypted: true,
  reply: '4.7.1 later',
  recipientDomain: '',
  count: 1,
}

describe('replies of receivers', () => {
  const TEXTS: readonly [reply: string, stored: string][] = [
    ['5.1.1 <anna@receiver.example>: no such user', '5.1.1 <(address)>: no such user'],
    ["4.2.2 bob+x@r.example's mailbox is full", "4.2.2 (address)'s mailbox is full"],
    ['4.7.1 see https://r.example/help\r\n for help', '4.7.1 see https://r.example/help for help'],
    ['4.7.28 [192.0.2.1] unusual rate', '4.7.28 [192.0.2.1] unusual rate'],
  ]
  for (const [reply, stored] of TEXTS)
    it(`are stored as ${stored}`, () => assert.strictEqual(withoutAddresses(reply), stored))

  it('never contain the address of a person, wherever it is', () => {
    const word = fc.stringMatching(/^[a-z0-9+._-]{1,12}$/)
    fc.assert(
      fc.property(word, word, fc.constantFrom('', '<', '(', ' ', '"', ','), (local, host, around) => {
        const address = `${local}@${host}`
        assert.notInclude(withoutAddresses(`550 ${around}${address} unknown`), address)
      }),
    )
  })

  it('are the last ones of the workspace and of the installation, with the first time', () => {
    const earlier = { ...GROUP, events: deferredAt(NOW - 60_000), reply: '4.7.1 earlier' }
    assert.deepEqual(
      repliesOf([GROUP, earlier], NOW).map(({ workspaceId, receiver, reply, since, count }) => [
        workspaceId,
        receiver,
        reply,
        since.getTime(),
        count,
      ]),
      [GROUP.workspaceId, INSTALLATION].map((id) => [id, 'receiver.example', '4.7.1 later', NOW - 60_000, 2]),
    )
  })

  const NONE: readonly [what: string, group: Partial<EventGroup>][] = [
    ['older than a week', { events: deferredAt(NOW - 8 * 86_400_000) }],
    ['without words', { reply: null }],
    ['without an attempt', { isAttempted: false }],
  ]
  for (const [what, group] of NONE)
    it(`are not stored if ${what}`, () => assert.deepEqual(repliesOf([{ ...GROUP, ...group }], NOW), []))

  it('of a campaign to many domains are a few hundred', () => {
    const groups = Array.from({ length: 2000 }, (_, n) => ({ ...GROUP, host: `mx.r${n}.example`, count: n }))
    const rows = repliesOf(groups, NOW)
    assert.deepEqual([rows.length, rows[0]?.receiver], [300, 'r1999.example'])
  })
})
