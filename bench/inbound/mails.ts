/** The mix of mail that an inbound route receives: most is small text, some are newsletters, a few have files. */
import { dkimSign } from 'mailauth/lib/dkim/sign.js'

export interface SigningKey {
  readonly domain: string
  readonly selector: string
  /** PEM. */
  readonly privateKey: string
}

const LINE = 'Thank you for your message; the parcel arrived yesterday and everything was as ordered.\r\n'
const TEXT = (octets: number): string => LINE.repeat(Math.ceil(octets / LINE.length))
const PARAGRAPH = '<p style=3D"margin:0">Gr=C3=BC=C3=9Fe <a href=3D"https://x.example/a">link</a></p>\r\n'
const HTML = (octets: number): string =>
  `<html><body>${PARAGRAPH.repeat(Math.ceil(octets / PARAGRAPH.length))}</body></html>\r\n`

const head = (i: number, type: string): string =>
  [
    `From: Ann <ann${i}@friend.example>`,
    'To: support@sender.example',
    `Subject: Order ${i}`,
    `Date: ${new Date().toUTCString()}`,
    `Message-ID: <${i}.${Date.now()}@friend.example>`,
    'MIME-Version: 1.0',
    `Content-Type: ${type}`,
  ].join('\r\n')
const part = (type: string, body: string, encoding = '7bit'): string =>
  `--b\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n`
const multipart = (i: number, kind: string, parts: readonly string[]): string =>
  `${head(i, `multipart/${kind}; boundary=b`)}\r\n\r\n${parts.join('')}--b--\r\n`
const base64 = (octets: number): string =>
  Buffer.alloc(octets, 'file').toString('base64').replaceAll(/.{76}/g, '$&\r\n')

/** Shares of 20 mails. */
const KINDS: readonly (readonly [share: number, make: (i: number) => string])[] = [
  [9, (i) => `${head(i, 'text/plain; charset=utf-8')}\r\n\r\n${TEXT(2000)}`],
  [
    7,
    (i) =>
      multipart(i, 'alternative', [
        part('text/plain; charset=utf-8', TEXT(3000)),
        part('text/html; charset=utf-8', HTML(9000), 'quoted-printable'),
      ]),
  ],
  [
    3,
    (i) =>
      multipart(i, 'alternative', [
        part('text/plain; charset=utf-8', TEXT(8000)),
        part('text/html; charset=utf-8', HTML(50_000), 'quoted-printable'),
      ]),
  ],
  [
    1,
    (i) =>
      multipart(i, 'mixed', [
        part('text/plain; charset=utf-8', TEXT(1000)),
        part('application/pdf; name=order.pdf', base64(150_000), 'base64'),
      ]),
  ],
]
const MIX = KINDS.flatMap(([share, make]) => Array.from({ length: share }, () => make))

/** A signed mail of the mix. */
export async function makeMail(i: number, key: SigningKey): Promise<Buffer> {
  const mail = (MIX[(i * 7) % MIX.length] ?? MIX[0])?.(i) ?? ''
  const signer = { signingDomain: key.domain, selector: key.selector, privateKey: key.privateKey }
  const { signatures } = await dkimSign(mail, {
    canonicalization: 'relaxed/relaxed',
    ...signer,
    signatureData: [signer],
  })
  return Buffer.from(signatures + mail)
}
