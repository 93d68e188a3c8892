import { assert } from 'chai'
import { createRenderer } from '#src/templates/renderer.ts'
import { saveTemplate } from '#src/templates/store.ts'
import { setUpSubmission, writeMail } from './submission.test-data.ts'

describe('submission', () => {
  const scene = setUpSubmission()

  describe('the header', () => {
    it('gains Received, Date and Message-ID, and loses every form of Bcc', async () => {
      const { raw, view } = await scene.client.find(
        await scene.client.hand(
          writeMail(
            'Bcc: one@x.example,\r\n\ttwo@x.example\r\nX-Other: stays\r\n' +
              'BCC : three@x.example\r\nResent-Bcc: four@x.example\r\n',
          ),
        ),
      )
      const text = raw.toString()
      assert.match(
        text,
        new RegExp(
          String.raw`^Received: from client\.test \(\[127\.0\.0\.1\]\)\r\n\tby mx\.sender\.example with ESMTPA` +
            String.raw` id [0-9a-f]{32};\r\n\t.* \+0000\r\nFrom: `,
        ),
      )
      assert.match(
        text,
        /\r\nX-Other: stays\r\nDate: .* \+0000\r\nMessage-ID: <[0-9a-f]{32}@sender\.example>\r\n\r\nHello\r\n\r\n$/,
      )
      assert.notMatch(text, /bcc\s*:|one@|two@|three@|four@/i)
      assert.strictEqual(view.tier, 'normal')
    })
    it('keeps the other fields unchanged', async () => {
      const { raw } = await scene.client.find(
        await scene.client.hand(
          writeMail('date: yesterday\r\nMESSAGE-ID: <mine@x>\r\nX-Weird:\r\n\tfolded  \r\nnot a field\r\n'),
        ),
      )
      assert.include(
        raw.toString(),
        'Subject: Hi\r\ndate: yesterday\r\nMESSAGE-ID: <mine@x>\r\n' +
          'X-Weird:\r\n\tfolded  \r\nnot a field\r\n\r\nHello',
      )
    })
  })

  describe('options in the header', () => {
    it('set tier, tags and metadata, and are removed from the message', async () => {
      const { raw, view } = await scene.client.find(
        await scene.client.hand(
          writeMail(
            'X-Priority-Tier: HIGH\r\nX-Tag: invoice\r\nX-Tag: =?utf-8?q?M=C3=A4rz?=, vip\r\n' +
              'X-Metadata: {"order": 7,\r\n "paid": true}\r\nx-metadata: customer=42; ref=a=b\r\n',
          ),
        ),
      )
      assert.strictEqual(view.tier, 'high')
      assert.deepEqual(view.tags, ['invoice', 'März', 'vip'])
      assert.deepEqual(view.metadata, { order: 7, paid: true, customer: '42', ref: 'a=b' })
      assert.notMatch(raw.toString(), /x-(tag|metadata|priority)/i)
    })
    for (const [said, opens, clicks] of [
      ['', false, false],
      ['X-Track-Opens: yes\r\n', true, false],
      ['x-track-clicks: TRUE\r\nX-Track-Opens: off\r\n', false, true],
    ] as const) {
      it(`tracking: ${said.trim() || 'no option'}`, async () => {
        const { raw, view } = await scene.client.find(await scene.client.hand(writeMail(said)))
        const { rows } = await scene.ctx.db.query('SELECT track_opens, track_clicks FROM messages WHERE id = $1', [
          view.id,
        ])
        assert.deepEqual(rows, [{ track_opens: opens, track_clicks: clicks }])
        assert.notMatch(raw.toString(), /x-track/i)
      })
    }
    for (const field of [
      'X-Track-Opens: perhaps',
      'X-Track-Clicks: constructor',
      'X-Priority-Tier: urgent',
      'X-Metadata: {"a": {}}',
      'X-Metadata: nothing',
      `X-Tag: ${'x'.repeat(200)}`,
      'X-Idempotency-Key: ',
      'X-Template-Id: nope',
      'X-Params: [',
      'X-Idempotency-Key: a\r\nX-Idempotency-Key: b',
      'X-Priority-Tier: instant\r\nx-priority-tier: bulk',
    ])
      it(`${field.slice(0, 40)} is refused with its reason, in ASCII`, async () =>
        assert.match(await scene.client.hand(writeMail(`${field}\r\n`)), /^550 5\.6\.0 x-[ -~]+$/i))
    it('X-Idempotency-Key: the same message gets the reply of the first, another is refused', async () => {
      const first = await scene.client.hand(
        writeMail('X-Idempotency-Key: k1\r\nDate: Mon, 1 Jan 2024 00:00:00 +0000\r\nMessage-ID: <1@x>\r\n'),
      )
      const second = await scene.client.hand(
        writeMail('X-Idempotency-Key: k1\r\nDate: Mon, 1 Jan 2024 00:00:09 +0000\r\nMessage-ID: <2@x>\r\n'),
      )
      assert.strictEqual(second, first)
      assert.match(await scene.client.hand(writeMail('X-Idempotency-Key: k1\r\n', 'another')), /^554 5\.6\.0 /)
      assert.match(await scene.client.hand(writeMail('X-Idempotency-Key: k1\r\n'), 'other@b.example'), /^554 5\.6\.0 /)
    })
    it('two messages with the same Message-ID are both accepted', async () => {
      assert.notStrictEqual(
        await scene.client.hand(writeMail('Message-ID: <same@x>\r\n')),
        await scene.client.hand(writeMail('Message-ID: <same@x>\r\n')),
      )
    })
    it('X-Template-Id supplies the body', async () => {
      const renderer = createRenderer()
      after(() => renderer.stop())
      const saved = await saveTemplate({ db: scene.ctx.db, renderer }, scene.sender.workspaceId, {
        name: 't',
        subject: 'Order {{n}}',
        body: '<p>Dear {{name}}</p>',
      })
      assert.strictEqual(saved.kind, 'saved')
      const id = saved.kind === 'saved' ? saved.template.id : ''
      const reply = await scene.client.hand(
        `From: shop@sender.example\r\nTo: Ann <a@b.example>\r\nX-Template-Id: ${id}\r\n` +
          `X-Params: {"name": "Änn", "n": 7}\r\nX-Own: yes\r\n\r\nignored`,
      )
      const { view } = await scene.client.find(reply)
      assert.strictEqual(view.subject, 'Order 7')
      const {
        rows: [row],
      } = await scene.ctx.db.query(
        'SELECT b.html, b.raw, headers FROM messages JOIN message_bodies b ON message_id = id WHERE subject = $1',
        ['Order 7'],
      )
      assert.deepEqual(row, { html: '<p>Dear Änn</p>', raw: null, headers: [['X-Own', 'yes']] })
    })
  })
})
