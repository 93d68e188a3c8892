import { assert } from 'chai'
import { findForwardedAddress, isSameMailbox, type ForwardEvidence } from './forwarded-address.ts'

const NOTHING: ForwardEvidence = { actual: [], texts: [], entries: [], senders: [] }
const said = (...texts: readonly string[]): ForwardEvidence => ({ ...NOTHING, texts })

describe('the address that failed in place of a recipient', () => {
  const CASES: readonly (readonly [what: string, evidence: ForwardEvidence, found: string | null])[] = [
    ['nothing', NOTHING, null],
    ['X-Actual-Recipient', { ...NOTHING, actual: ['nosuch@b.example'] }, 'nosuch@b.example'],
    ['X-Actual-Recipient on an inner host', { ...NOTHING, actual: ['Ann@mail.b.example'] }, null],
    ['X-Actual-Recipient of a local user', { ...NOTHING, actual: ['ann@localhost.localdomain'] }, null],
    [
      'an entry that was expanded from the recipient',
      { ...NOTHING, entries: [{ address: 'nosuch@c.example', text: '', origin: 'ANN@b.example' }] },
      'nosuch@c.example',
    ],
    [
      'an entry that was expanded from another address',
      { ...NOTHING, entries: [{ address: 'nosuch@c.example', text: '', origin: 'bob@b.example' }] },
      null,
    ],
    [
      'a local user that it was expanded to',
      said('nosuch\n    (reason: 550)\n (expanded from: <ann@b.example>)'),
      'nosuch',
    ],
    ['a command', said('"|/bin/list"\n  (expanded from: <ann@b.example>)'), '"|/bin/list"'],
    ['the recipient in a reply', said('550 5.1.1 <ann@b.example>: user unknown'), null],
    ['another address in a reply', said('550 5.1.1 <nosuch@c.example>... User unknown'), 'nosuch@c.example'],
    ['another local part of its domain', said('550 5.1.1 nosuch@b.example does not exist'), 'nosuch@b.example'],
    ['the recipient without its subaddress', said('550 5.1.1 no user ann+shop@b.example'), null],
    ['the recipient, cut off', said('550 5.1.1 <ann@b.exam'), null],
    ['a person to ask', said('550 5.1.1 unknown. Please contact bob.boss@b.example for help'), null],
    ['a role address', said('550 5.1.1 unknown (postmaster@b.example)'), null],
    ['the sender', { ...said('550 5.1.1 unknown, shop@a.example'), senders: ['shop@a.example'] }, null],
    ['the sender by its position', said('550 5.1.1 unknown recipient, mail from shop@a.example'), null],
    ['our return-path', said(`550 5.1.1 unknown b-${'a'.repeat(45)}@bounces.a.example`), null],
    ['a link', said('550 5.1.1 unknown http://b.example/?to=nosuch@b.example'), null],
  ]
  for (const [what, evidence, found] of CASES) {
    it(`${what}: ${found ?? 'none'}`, () => assert.strictEqual(findForwardedAddress('ann@b.example', evidence), found))
  }

  const SAME: readonly (readonly [one: string, other: string, isSame: boolean])[] = [
    ['ann@b.example', 'ANN@B.example', true],
    ['ann@b.example', '"ann"@mx.b.example', true],
    ['ann@b.example', 'ann', true],
    ['ann@b.example', 'ann@[192.0.2.1]', true],
    ['ann@b.example', 'ann@192.0.2.1', true],
    ['ann@b.example', 'ann@mail.corp', true],
    ['ann@b.example', 'ann@c.example', false],
    ['ann@b.example', 'bob@b.example', false],
    ['ann@b.example', 'bob', false],
  ]
  for (const [one, other, isSame] of SAME)
    it(`${one} and ${other}: ${isSame ? 'one mailbox' : 'two mailboxes'}`, () =>
      assert.deepEqual([isSameMailbox(one, other), isSameMailbox(other, one)], [isSame, isSame]))
})
