import { assert, expect } from 'chai'
import { HEX, addresses, checkWire, octetsOf, parse, plain } from './compose.test-data.ts'
import { compose } from './compose.ts'
import { InvalidDraftError } from './draft.ts'
import type { Draft } from './draft.ts'
import { sign } from '#mta/compose/sign.ts'

const wire = async (draft: Draft): Promise<string> => (await octetsOf(draft)).toString('latin1')

describe('compose', () => {
  it('writes a plain text message', async () => {
    assert.strictEqual(
      await wire(plain),
      [
        'From: Ann <ann@example.com>',
        'To: bob@example.org',
        'Subject: Hello',
        'Date: Mon, 29 Jul 2024 03:03:42 +0000',
        `Message-ID: <${HEX}@example.com>`,
        'MIME-Version: 1.0',
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: 7bit',
        '',
        'Hi Bob',
        '',
      ].join('\r\n'),
    )
  })

  it('derives a text part from HTML', async () => {
    assert.strictEqual(
      await wire({ ...plain, text: null, html: '<p>Hi <b>Bob</b></p>' }),
      [
        'From: Ann <ann@example.com>',
        'To: bob@example.org',
        'Subject: Hello',
        'Date: Mon, 29 Jul 2024 03:03:42 +0000',
        `Message-ID: <${HEX}@example.com>`,
        'MIME-Version: 1.0',
        'Content-Type: multipart/alternative;',
        ` boundary="=_${HEX}"`,
        '',
        `--=_${HEX}`,
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: 7bit',
        '',
        'Hi Bob',
        `--=_${HEX}`,
        'Content-Type: text/html; charset=utf-8',
        'Content-Transfer-Encoding: 7bit',
        '',
        '<p>Hi <b>Bob</b></p>',
        `--=_${HEX}--`,
        '',
      ].join('\r\n'),
    )
  })

  it('returns fields and body separately; joined they are the message', async () => {
    const composed = await compose({ ...plain, subject: 'Grüße' })
    assert.strictEqual(`${composed.fields.map((field) => field.line).join('')}\r\n`, composed.head)
    assert.deepEqual(
      composed.fields.map((field) => field.name),
      ['from', 'to', 'subject', 'date', 'message-id', 'mime-version', 'content-type', 'content-transfer-encoding'],
    )
    assert.strictEqual(
      (await sign(composed, [])).toString('latin1'),
      `${composed.head}${composed.body.toString('latin1')}`,
    )
    assert.strictEqual(composed.needsSmtputf8, false)
  })

  it('composes the same octets for the same draft', async () => {
    const files = [{ filename: 'ü.png', contentType: 'image/png', contentId: 'x', content: Buffer.from('png') }]
    for (const draft of [
      plain,
      { ...plain, html: '<p>x' },
      { ...plain, html: '<img src="cid:x">', attachments: files },
    ])
      assert.strictEqual(await wire(draft), await wire({ ...draft }))
  })

  it('chooses a boundary that the body does not contain', async () => {
    const html = `<p>--=_${HEX}</p>\n--=_${HEX}--\n`
    const mail = await parse(await octetsOf({ ...plain, html, text: `--=_${HEX}_` }))
    assert.strictEqual(mail.html, html)
    assert.strictEqual(mail.text, `--=_${HEX}_`)
  })

  it('requires SMTPUTF8 only for an address', async () => {
    const composed = await compose({ ...plain, to: [{ email: 'ü@bücher.de', name: 'Ü' }] })
    assert.strictEqual(composed.needsSmtputf8, true)
    assert.match((await sign(composed, [])).toString(), /^To: =\?UTF-8\?B\?w5w=\?= <ü@xn--bcher-kva\.de>\r$/m)
  })

  it('does not treat Latin-1 octets in a raw header as UTF-8', async () => {
    const raw = (text: string, encoding: 'latin1' | 'utf8'): Buffer => Buffer.from(`Subject: ${text}\r\n\r\n`, encoding)
    const needs = async (bytes: Buffer): Promise<boolean> => (await compose({ ...plain, raw: bytes })).needsSmtputf8
    assert.deepEqual(await Promise.all([raw('x', 'utf8'), raw('ü', 'latin1'), raw('ü', 'utf8')].map(needs)), [
      false,
      false,
      true,
    ])
  })

  const blind: readonly [string, Partial<Draft>, RegExp, RegExp][] = [
    ['nobody named', { to: [] }, /^To: undisclosed-recipients:;\r$/m, /^Cc:/m],
    ['only copies', { to: [], cc: [{ email: 'c@d.ef', name: null }] }, /^Cc: c@d\.ef\r$/m, /^To:/m],
    ['no subject', { subject: '' }, /^To:/m, /^Subject:/m],
    ['an image only', { text: null, html: '<img src="x">' }, /^Content-Type: text\/html/m, /multipart/],
    ['no body at all', { text: null, html: null }, /\r\nContent-Transfer-Encoding: 7bit\r\n\r\n$/, /multipart/],
    ['no text but spaces', { text: '', html: '<p>x' }, /multipart\/alternative/, /^Cc:/m],
  ]
  for (const [what, change, present, absent] of blind) {
    it(`writes ${what}`, async () => {
      const text = await wire({ ...plain, ...change })
      assert.match(text, present)
      assert.notMatch(text, absent)
    })
  }

  const injections: readonly [string, Partial<Draft>][] = [
    ['subject', { subject: 'x\r\nBcc: evil@x.yz\r\n\r\nbody' }],
    ['subject with bare CR', { subject: 'x\rBcc: evil@x.yz\r\rbody' }],
    ['name', { from: { email: 'a@b.co', name: 'x\r\nBcc: evil@x.yz' } }],
    ['recipient name', { to: [{ email: 'a@b.co', name: 'x"\n\nBcc: evil@x.yz' }] }],
    [
      'custom value',
      {
        headers: [
          ['X-A', 'x\nBcc: evil@x.yz'],
          ['X-B', '\r\n\r\n<p>'],
          ['Sender', 'a@b.co\r\nBcc: evil@x.yz'],
        ],
      },
    ],
    [
      'custom name that is ours',
      {
        headers: ['bcc', 'BCC', 'Resent-Bcc', 'From', 'Content-Type', 'DKIM-Signature', 'Received'].map((name) => [
          name,
          'evil',
        ]),
      },
    ],
  ]
  for (const [what, change] of injections) {
    it(`lets nothing in by the ${what}`, async () => {
      const draft = { ...plain, ...change }
      const bytes = await octetsOf(draft)
      const mail = await parse(bytes)
      checkWire(bytes)
      assert.strictEqual(mail.bcc, undefined)
      assert.strictEqual(mail.text, 'Hi Bob\n')
      assert.ok(!mail.headerLines.some(({ key }) => /^(bcc|resent-bcc|received|dkim-signature)$/.test(key)))
      assert.strictEqual(mail.headerLines.filter(({ key }) => key === 'from' || key === 'content-type').length, 2)
    })
  }

  it('keeps custom fields, encoded by their kind', async () => {
    const text = await wire({
      ...plain,
      headers: [
        ['X-Note', 'Grüße all'],
        ['List-Unsubscribe', '<https://x.yz/u?a=b>'],
        ['Reply-To', 'Jürgen <j@x.yz>, k@x.yz'],
        ['X-Empty', ' '],
        ['sender', 'no mailbox ü'],
      ],
    })
    assert.deepEqual(text.slice(text.indexOf('X-Note'), text.indexOf('MIME-Version')).split('\r\n'), [
      'X-Note: =?UTF-8?Q?Gr=C3=BC=C3=9Fe_all?=',
      'List-Unsubscribe: <https://x.yz/u?a=b>',
      'Reply-To: =?UTF-8?Q?J=C3=BCrgen?= <j@x.yz>, k@x.yz',
      'sender: =?UTF-8?Q?no_mailbox_=C3=BC?=',
      '',
    ])
    const own = await wire({ ...plain, replyTo: { email: 'r@x.yz', name: null }, headers: [['Reply-To', 'j@x.yz']] })
    assert.deepEqual(own.match(/^Reply-To:.*$/gm), ['Reply-To: r@x.yz\r'.trimEnd()])
  })

  const broken: readonly [field: string, change: Partial<Draft>][] = [
    ['from', { from: { email: 'nobody', name: null } }],
    ['from', { from: { email: 'a@b.co\r\nBcc: x@y.zz', name: null } }],
    ['to', { to: [{ email: 'a@b.co, c@d.ef', name: null }] }],
    ['cc', { cc: [{ email: '', name: 'x' }] }],
    ['replyTo', { replyTo: { email: '<a@b.co>', name: null } }],
    ['messageId', { messageId: '../x' }],
    ['createdAt', { createdAt: new Date(Number.NaN) }],
    ['headers', { headers: [['X:Y', 'z']] }],
    ['headers', { headers: [['X\r\nBcc', 'z']] }],
    ['headers', { headers: [['', 'z']] }],
    ['headers', { headers: [['Ü', 'z']] }],
  ]
  for (const [field, change] of broken) {
    it(`names ${field} as broken: ${JSON.stringify(change)}`, async () => {
      const isNamed = (error: unknown): boolean =>
        error instanceof InvalidDraftError && error.field === field && error.message.startsWith(`${field}: `)
      await expect(compose({ ...plain, ...change })).to.be.rejected.and.eventually.satisfy(isNamed)
    })
  }

  it('folds a list of 200 recipients into short lines', async () => {
    const to = Array.from({ length: 200 }, (_, i) => ({
      email: `recipient${i}@example.org`,
      name: i % 3 === 0 ? `Person, Nr. ${i}` : i % 3 === 1 ? `Größe ${i}` : null,
    }))
    const bytes = await octetsOf({ ...plain, to })
    checkWire(bytes)
    for (const line of bytes.toString().split('\r\n')) assert.ok(line.length < 78, line)
    assert.deepEqual(
      addresses((await parse(bytes)).to),
      to.map(({ email, name }) => ({ address: email, name: name ?? '' })),
    )
  })

  it('folds below 78 octets where possible, and encodes below 998 otherwise', async () => {
    for (const subject of [
      'word '.repeat(300).trim(),
      'x'.repeat(5000),
      `${'x'.repeat(100)} ${'y'.repeat(900)}`,
      '😀'.repeat(500),
      `a${' '.repeat(2000)}b`,
    ]) {
      const bytes = await octetsOf({ ...plain, subject })
      checkWire(bytes)
      assert.strictEqual((await parse(bytes)).subject, subject)
    }
  })

  it('passes a raw message through', async () => {
    const raw = Buffer.from(
      'Subject: =?x?=\r\nX-Note:\tfolded ü\r\n  more\r\nnot a field\r\n\r\n\0body\r.\n\n\xff',
      'utf8',
    )
    const composed = await compose({ ...plain, raw })
    assert.deepEqual(await sign(composed, []), raw)
    assert.deepEqual(
      composed.fields.map((field) => field.name),
      ['subject', 'x-note', ''],
    )
  })
})
