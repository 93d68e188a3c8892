/** A plain draft, readers of composed messages and their encodings, and what holds for every message. */
import { assert } from 'chai'
import { simpleParser } from 'mailparser'
import type { AddressObject, ParsedMail } from 'mailparser'
import { compose } from './compose.ts'
import type { Draft } from './draft.ts'
import { sign } from '#mta/compose/sign.ts'

export const HEX = '0190a6f0111172228333444455556666'
export const plain: Draft = {
  messageId: '0190a6f0-1111-7222-8333-444455556666',
  createdAt: new Date('2024-07-29T03:03:42.987Z'),
  from: { email: 'ann@example.com', name: 'Ann' },
  replyTo: null,
  to: [{ email: 'bob@example.org', name: null }],
  cc: [],
  subject: 'Hello',
  html: null,
  text: 'Hi Bob\n',
  headers: [],
  attachments: [],
  raw: null,
}

/** A message without signatures, as it goes over the wire. */
export const octetsOf = async (draft: Draft): Promise<Buffer> => sign(await compose(draft), [])

export const parse = (bytes: Buffer): Promise<ParsedMail> =>
  simpleParser(bytes, { skipHtmlToText: true, skipTextToHtml: true, skipTextLinks: true, skipImageLinks: true })

/** What any message from here must be, whatever the draft. */
export function checkWire(bytes: Buffer): void {
  const text = bytes.toString('latin1')
  assert.notMatch(text, /\r(?!\n)|(?<!\r)\n/, 'every line end is CRLF')
  assert.notMatch(text, /\0/)
  assert.ok(text.endsWith('\r\n'))
  for (const line of text.split('\r\n')) assert.ok(line.length <= 998, `a line of ${line.length}`)
  assert.notMatch(text.slice(0, text.indexOf('\r\n\r\n') + 2), /^[ \t]*\r\n/m, 'no line of the header is empty')
}

export const addresses = (list: AddressObject | AddressObject[] | undefined): object[] =>
  [list ?? []].flat().flatMap((object) => object.value.map(({ address, name }) => ({ address, name })))

/** The octets of text in which `=XX` stands for one: quoted-printable without soft breaks, and Q. */
export const fromHex = (text: string): Buffer =>
  Buffer.from(
    text.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )
