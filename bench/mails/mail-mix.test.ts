import { assert } from 'chai'
import { finishedMails, mailPool, MIXES } from './mail-mix.ts'
import { BODY_MARKER, createTemplate, sendJson } from './sample-mail.ts'

interface SentJson {
  readonly to: readonly string[]
  readonly html?: string
  readonly text?: string
  readonly attachments?: readonly { readonly content: string }[]
}

describe('the sample mails', () => {
  it('are the same in every run', () => {
    for (const mix of MIXES) assert.deepEqual(mailPool(mix), mailPool(mix))
  })

  it('have the sizes that their kinds promise', () => {
    const mixed = mailPool('mixed')
    const receipts = mixed.filter(({ html, text }) => html !== null && text === null)
    const newsletters = mixed.filter(({ text }) => (text?.length ?? 0) > 5000)
    const invoices = mixed.filter(({ attachments }) => attachments.length > 0)
    assert.deepEqual([receipts.length, newsletters.length, invoices.length], [40, 10, 5])
    assert.ok(receipts.every(({ html }) => Math.abs((html?.length ?? 0) - 12_000) < 1500))
    assert.ok(newsletters.every(({ html }) => Math.abs((html?.length ?? 0) - 60_000) < 2000))
    assert.ok(newsletters.every(({ html }) => html?.match(/<a /g)?.length === 40))
    assert.ok(mailPool('html').every(({ html }) => Math.abs((html?.length ?? 0) - 4096) < 600))
  })

  it('are different for each message, with its number behind the marker', () => {
    const bodies = new Set<string>()
    const pool = mailPool('mixed').map((mail) => createTemplate(sendJson('a@b.example', 'c.example', mail)))
    for (let number = 1; number <= 300; number++) {
      const bytes = pool[number % pool.length]?.fill(number).toString() ?? ''
      const { to, html, text, attachments } = JSON.parse(bytes) as SentJson
      const digits = String(number).padStart(9, '0')
      assert.deepEqual(to, [`m${digits}@c.example`])
      assert.include(html ?? text, `${BODY_MARKER}${digits}\n`)
      if (attachments) assert.match(attachments[0]?.content ?? '', /^[A-Za-z0-9+/]+=*$/)
      bodies.add(JSON.stringify([html, text, attachments]))
    }
    assert.strictEqual(bodies.size, 300)
  })

  it('are finished for the references: composed, with CRLF, in the same shares', async () => {
    for (const mix of MIXES) {
      const mails = await finishedMails(mix, 'a@b.example', 'c@d.example')
      assert.strictEqual(
        mails.reduce((sum, { share }) => sum + share, 0),
        100,
      )
      for (const { mail } of mails) {
        const text = mail.toString('latin1')
        assert.match(text, /^From: a@b\.example\r\nTo: c@d\.example\r\n/)
        assert.include(text, 'MIME-Version: 1.0\r\n')
        assert.notMatch(text, /[^\r]\n|#########/)
        assert.ok(text.endsWith('\r\n'))
      }
    }
  })
})
