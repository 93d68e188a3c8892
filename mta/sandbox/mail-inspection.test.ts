import { assert } from 'chai'
import { countBytesLeft } from '#test/support/young-collections.ts'
import { createMailInspector, type MailInspection } from './mail-inspection.ts'

const HEX = '0190a6f0111172228333444455556666'
const ID = '0190a6f0-1111-7222-8333-444455556666'

/** Inspects 100 mails of 100 KB. */
const PROGRAM = `
  const { createMailInspector } = await import('./mail-inspection.ts')
  const inspector = createMailInspector(53, [])
  for (let i = 0; i < 100; i++) {
    const raw = Buffer.alloc(100_000, 'x')
    raw.write('Subject: Hello\\r\\n\\r\\n')
    await inspector.inspect(raw, '')
  }
`

describe('inspection of a captured mail', () => {
  const cases: readonly [what: string, header: readonly string[], expected: Partial<MailInspection>][] = [
    ['an address', ['From: ann@sender.example'], { headerFrom: 'ann@sender.example' }],
    ['a name', ['From: Ann <ann@sender.example>'], { headerFrom: '"Ann" <ann@sender.example>' }],
    [
      'encoded words and several mailboxes',
      ['From: =?utf-8?Q?J=C3=BCrgen?= <j@sender.example>,', ' "B, C" <b@sender.example>'],
      { headerFrom: '"Jürgen" <j@sender.example>, "B, C" <b@sender.example>' },
    ],
    ['UTF-8', ['From: Jürgen <j@sender.example>'], { headerFrom: '"Jürgen" <j@sender.example>' }],
    ['a From that is no mailbox', ['From: =?utf-8?Q?J=C3=BCrgen?= of the shop'], { headerFrom: 'Jürgen of the shop' }],
    ['no From and no Subject', ['To: ben@receiver.example'], { headerFrom: null, subject: null }],
    ['an empty Subject', ['Subject:'], { subject: '' }],
    ['a folded Subject', ['Subject: Your order', ' of =?utf-8?B?SmFudWFy?='], { subject: 'Your order of Januar' }],
    ['our Message-ID', [`Message-ID: <${HEX}@sender.example>`], { messageId: ID }],
    ['another Message-ID', ['Message-ID: <1@sender.example>'], { messageId: null }],
    ['no signature', ['Subject: Hello'], { dkim: [] }],
  ]
  for (const [what, header, expected] of cases)
    it(`reads ${what}`, async () => {
      const inspector = createMailInspector(53, [])
      const raw = Buffer.from([...header, '', 'From: not@header.example', ''].join('\r\n'))
      assert.deepInclude(await inspector.inspect(raw, ''), expected)
      inspector.stop()
    })

  it('leaves the mail to young collections', async function () {
    this.timeout(60_000)
    assert.isBelow(await countBytesLeft(import.meta.dirname, PROGRAM), 1_000_000)
  })
})
