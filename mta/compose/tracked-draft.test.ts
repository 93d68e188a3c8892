import { assert } from 'chai'
import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import { trackHtml, type TrackingMarkup } from '#src/tracking/html-tracking.ts'
import { trackDraft } from './tracked-draft.ts'
import { trackRaw } from './tracked-raw-message.ts'

const MARKS: TrackingMarkup = {
  pixel: 'https://t.example/o/x',
  link: (url) => `https://t.example/c/${Buffer.from(url).toString('base64url')}`,
}
const HTML = '<html><body><p>Hallo=Welt é</p><a class="b" href="http://a.example/?x=1&amp;y=2">Los</a></body></html>'

const lines = (...all: readonly string[]): Buffer => Buffer.from(all.join('\r\n'))
const quoted = (html: string, width = 60): string => {
  const coded = Buffer.from(html)
    .toString('latin1')
    .replaceAll(/[=\x80-\xff]/g, (c) => `=${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
  return (coded.match(new RegExp(`(?:=..|[^=]){1,${width}}`, 'g')) ?? []).join('=\r\n')
}
const base64 = (html: string, width = 76): string =>
  (
    Buffer.from(html)
      .toString('base64')
      .match(new RegExp(`.{1,${width}}`, 'g')) ?? []
  ).join('\r\n')
const single = (encoding: string, body: string, type = 'text/html; charset=utf-8'): Buffer =>
  lines(
    'From: a@b.example',
    'Subject: x',
    'MIME-Version: 1.0',
    `Content-Type: ${type}`,
    `Content-Transfer-Encoding: ${encoding}`,
    '',
    body,
    '',
  )
const htmlOf = async (raw: Buffer): Promise<string> => ((await simpleParser(raw)).html || '').trimEnd()

describe('tracking in a complete message', () => {
  for (const [encoding, body] of [
    ['8bit', HTML],
    ['Quoted-Printable', quoted(HTML)],
    ['quoted-printable', quoted(HTML, 7)],
    ['base64', base64(HTML)],
    ['BASE64', base64(HTML, 40)],
  ] as const) {
    it(`changes the HTML in ${encoding} as it changes HTML`, async () => {
      const tracked = trackRaw(single(encoding, body), MARKS)
      assert.strictEqual(await htmlOf(tracked), trackHtml(HTML, MARKS))
      assert.ok(
        tracked
          .toString('latin1')
          .split('\r\n')
          .every((line) => line.length <= (encoding === '8bit' ? 998 : 76)),
      )
    })
  }
  it('finds HTML in nested parts, and changes nothing else', async () => {
    const raw = lines(
      'From: a@b.example',
      'Content-Type: multipart/mixed; boundary="out er"',
      '',
      'preamble <a href="http://x.example/">',
      '--out er',
      'Content-Type: multipart/alternative;',
      ' boundary=inner',
      '',
      '--inner',
      'Content-Type: text/plain',
      '',
      'http://a.example/ --inner',
      '--inner ',
      'Content-Type: text/html',
      '',
      '<a href=http://a.example/>',
      '--inner--',
      '',
      '--out er',
      'Content-Type: text/html',
      'Content-Disposition: attachment; filename=a.html',
      '',
      '<a href="http://b.example/">',
      '--out er',
      'Content-Type: message/rfc822',
      '',
      'Content-Type: text/html',
      '',
      '<a href="http://c.example/">',
      '--out er--',
      '<a href="http://d.example/">',
    )
    const tracked = trackRaw(raw, MARKS).toString()
    assert.strictEqual(
      tracked,
      raw.toString().replace('<a href=http://a.example/>', trackHtml('<a href=http://a.example/>', MARKS)),
    )
  })
  it('adds one image, to the first of two HTML parts', () => {
    const raw = lines(
      'Content-Type: multipart/mixed; boundary=x',
      '',
      '--x',
      'Content-Type: text/html',
      '',
      '<p>1',
      '--x',
      'Content-Type: text/html',
      '',
      '<a href=http://a.example/>2',
      '--x--',
    )
    const tracked = trackRaw(raw, MARKS).toString()
    assert.strictEqual(tracked.split('<img').length, 2)
    assert.ok(tracked.indexOf('<img') < tracked.indexOf('2'))
    assert.ok(tracked.includes('<a href=https://t.example/c/'))
  })
  const html = '<a href="http://a.example/">'
  const untouched: readonly (readonly [string, Buffer])[] = [
    [
      'a signed message',
      lines('Content-Type: multipart/signed; boundary=x', '', '--x', 'Content-Type: text/html', '', html, '--x--'),
    ],
    [
      'a signed part',
      lines(
        'Content-Type: multipart/mixed; boundary=y',
        '',
        '--y',
        'Content-Type: multipart/signed; boundary=x',
        '',
        '--x',
        'Content-Type: text/html',
        '',
        html,
        '--x--',
        '--y--',
      ),
    ],
    [
      'an encrypted message',
      lines('Content-Type: multipart/encrypted; boundary=x', '', '--x', 'Content-Type: text/html', '', html, '--x--'),
    ],
    ['text', lines('Content-Type: text/plain', '', html)],
    ['no type', lines('Subject: x', '', html)],
    ['nothing', Buffer.alloc(0)],
    ['UTF-16', single('8bit', html, 'text/html; charset=utf-16')],
    ['ISO-2022-JP', single('7bit', html, 'text/html; charset=ISO-2022-JP')],
    ['an unknown encoding', single('x-uuencode', html)],
    ['base64 that is none', single('base64', html)],
    ['two types', lines('Content-Type: text/html', 'Content-Type: text/plain', '', html)],
    ['no boundary', lines('Content-Type: multipart/mixed', '', '--x', html)],
    ['a line that would become too long', single('8bit', `<p>${'x'.repeat(950)}</p>${html}`)],
  ]
  for (const [what, raw] of untouched) it(`leaves ${what} alone`, () => assert.ok(trackRaw(raw, MARKS).equals(raw)))
  it('changes only ASCII links in Latin-1', () => {
    const raw = Buffer.concat([
      single('8bit', '', 'text/html; charset="ISO-8859-1"').subarray(0, -4),
      Buffer.from('\r\n\r\n<a href="http://a.example/é"><a href="http://b.example/">', 'latin1'),
    ])
    const tracked = trackRaw(raw, { ...MARKS, pixel: null }).toString('latin1')
    assert.ok(tracked.includes('<a href="http://a.example/é"><a href="https://t.example/c/'))
  })
  it('keeps every octet of any message except the edits', () => {
    const piece = fc.constantFrom(
      'Content-Type: multipart/mixed; boundary=x\r\n',
      'Content-Type: text/html\r\n',
      'Content-Transfer-Encoding: quoted-printable\r\n',
      '\r\n',
      '\n',
      '--x',
      '--x--',
      '<a href=3D"http://a.example/">',
      '<a href=http://b.example/>',
      '=',
      '=\r\n',
      '</body>',
      'text',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const raw = Buffer.from(pieces.join(''))
        const tracked = trackRaw(raw, { pixel: null, link: () => 'https://t.example/c/y' }).toString('latin1')
        const parts = tracked.split(/(?:=\r?\n)?https:\/\/t\.example\/c\/y(?:=\r?\n)?/)
        let at = 0
        for (const part of parts) {
          const found = raw.indexOf(part, at, 'latin1')
          assert.ok(found >= 0)
          at = found + part.length
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('tracking in a draft', () => {
  const draft = {
    messageId: '019a9a00-0000-7000-8000-000000000000',
    createdAt: new Date(0),
    from: { email: 'a@b.example', name: null },
    replyTo: null,
    to: [],
    cc: [],
    subject: '',
    headers: [],
    attachments: [],
    raw: null,
  }
  it('the text derived from HTML shows the original link targets', () => {
    const { html, text } = trackDraft({ ...draft, html: HTML, text: null }, MARKS)
    assert.strictEqual(html, trackHtml(HTML, MARKS))
    assert.ok(text?.includes('http://a.example/?x=1&y=2') === true && !text.includes('t.example'))
  })
  it('a given text stays unchanged', () =>
    assert.strictEqual(trackDraft({ ...draft, html: HTML, text: 'given' }, MARKS).text, 'given'))
  it('a message without HTML stays unchanged', () => {
    const plain = { ...draft, html: null, text: 'http://a.example/' }
    assert.deepEqual(trackDraft(plain, MARKS), plain)
  })
})
