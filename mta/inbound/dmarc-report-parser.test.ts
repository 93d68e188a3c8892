import { gzipSync } from 'node:zlib'
import { assert } from 'chai'
import { zipSync } from 'fflate'
import { REPORT_SAMPLES } from '#src/dmarc/aggregate-report.test-data.ts'
import { dmarcMessageOf, dmarcMessageWith, dmarcXmlOf } from '#test/support/dmarc-report-mail.ts'
import { SIGNER_MAIL_RECORD, signMessage } from '#test/support/tls-report-mail.ts'
import { parseDmarcReportMail, type DmarcReportParse } from './dmarc-report-parser.ts'

const XML = dmarcXmlOf({ id: '1', domain: 'shop.example', rows: [{ address: '192.0.2.1', messages: 3, dkim: true }] })
const FROM = 'dmarc@receiver.example'
const PLAIN = dmarcMessageOf({ xml: XML, from: FROM })

type Zone = Readonly<Record<string, string[][] | Error>>

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}

/** Every domain publishes the key; `send.…` permits 192.0.2.99 to send. */
const ZONE: Zone = { 'send.receiver.example TXT': [['v=spf1 ip4:192.0.2.99 -all']] }

function parse(raw: Buffer, { zone = ZONE, mailFrom = '', peer = '192.0.2.1' } = {}): Promise<DmarcReportParse> {
  const resolve = (name: string, type: string): Promise<unknown> => {
    const answer = zone[`${name} ${type}`] ?? (name.includes('._domainkey.') ? [[SIGNER_MAIL_RECORD]] : null)
    return answer instanceof Error || answer === null
      ? Promise.reject(answer ?? failure('ENOTFOUND'))
      : Promise.resolve(answer)
  }
  return parseDmarcReportMail({ raw, mailFrom, peer, helo: 'x.example' }, { serverName: 'mta.example', resolve })
}

async function signerOf(raw: Buffer, options?: Parameters<typeof parse>[1]): Promise<string> {
  const parsed = await parse(raw, options)
  return parsed.kind === 'report' ? parsed.signer : parsed.kind
}

describe('mail with DMARC reports', () => {
  for (const sample of REPORT_SAMPLES)
    it(`of ${sample.receiver}, in ${sample.packing}, is verified by its signature`, async () => {
      const domain = sample.from.slice(sample.from.indexOf('@') + 1)
      const parsed = await parse(await signMessage(dmarcMessageOf(sample), domain))
      assert.containsSubset(parsed, { kind: 'report', signer: domain, report: { policy: { domain: 'shop.example' } } })
    })

  const other = dmarcMessageOf({ xml: XML, from: 'x@evil.example', filename: 'receiver.example!shop.example!1!2.xml' })
  const cases: readonly (readonly [string, () => Promise<string>, string])[] = [
    ['without a signature', () => signerOf(PLAIN), ''],
    ['signed by the author', async () => signerOf(await signMessage(PLAIN)), 'receiver.example'],
    [
      'signed by a subdomain',
      async () => signerOf(await signMessage(PLAIN, 'a.receiver.example')),
      'a.receiver.example',
    ],
    ['signed by another domain', async () => signerOf(await signMessage(PLAIN, 'evil.example')), ''],
    ['by an author that the report does not name', async () => signerOf(await signMessage(other, 'evil.example')), ''],
    [
      'changed after it was signed',
      async () => signerOf(Buffer.from((await signMessage(PLAIN)).toString().replace('aggregate', 'Aggregate'))),
      '',
    ],
    [
      'with two From fields',
      async () => signerOf(Buffer.concat([Buffer.from('From: <x@evil.example>\r\n'), await signMessage(PLAIN)])),
      '',
    ],
    ['signed in its beginning only', async () => signerOf(await signMessage(PLAIN, 'receiver.example', 10)), ''],
    [
      'without a signature, from a host that SPF permits',
      () => signerOf(PLAIN, { mailFrom: 'b@send.receiver.example', peer: '192.0.2.99' }),
      'send.receiver.example',
    ],
    [
      'without a signature, from a host that SPF rejects',
      () => signerOf(PLAIN, { mailFrom: 'b@send.receiver.example', peer: '192.0.2.98' }),
      '',
    ],
    [
      'from a host that the SPF of another domain permits',
      () =>
        signerOf(PLAIN, {
          mailFrom: 'b@evil.example',
          zone: { 'evil.example TXT': [['v=spf1 +all']] },
        }),
      '',
    ],
    [
      'whose key DNS does not return',
      async () =>
        signerOf(await signMessage(PLAIN), { zone: { 's1._domainkey.receiver.example TXT': failure('ETIMEOUT') } }),
      'later',
    ],
  ]
  for (const [what, signer, expected] of cases)
    it(`${what}: ${expected === '' ? 'unverified' : expected}`, async () => {
      assert.strictEqual(await signer(), expected)
    })

  const megabytes = (n: number): Buffer => Buffer.alloc(n * 1024 * 1024, ' ')
  const bomb = Buffer.concat([Buffer.from('<feedback>'), megabytes(25)])
  const lying = Buffer.from(zipSync({ 'a.xml': bomb }))
  // the size that the central directory declares
  lying.writeUInt32LE(100, lying.lastIndexOf(Buffer.from('PK\u0001\u0002')) + 24)
  // nothing of it depends on the day: compressed bytes of another report may look like an element
  const inner = zipSync({ 'a.xml': Buffer.from('<feedback></feedback>') }, { mtime: '2026-01-01T00:00:00Z' })
  const rejected: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ['a gzip bomb', gzipSync(bomb), /too large/],
    ['a zip bomb', zipSync({ 'a.xml': bomb }), /too large/],
    ['a zip that lies about its size', lying, /truncated|no feedback|decompression/],
    ['a zip without XML', zipSync({ 'a.exe': Buffer.from('MZ') }), /decompression failed/],
    ['a zip in a zip', zipSync({ 'a.xml': inner }), /no feedback/],
    ['a damaged gzip', gzipSync(XML).subarray(0, 40), /decompression failed/],
    ['a damaged zip', zipSync({ 'a.xml': Buffer.from(XML) }).subarray(0, 60), /decompression failed/],
    ['a picture', Buffer.from('\u0089PNG\r\n'), /no part/],
  ]
  for (const [what, content, why] of rejected)
    it(`with ${what} is rejected`, async () => {
      const parsed = await parse(dmarcMessageWith({ content, from: FROM }))
      assert.strictEqual(parsed.kind, 'none')
      if (parsed.kind === 'none') assert.match(parsed.why, why)
    })

  it('may be the report itself, without parts', async () => {
    const mail = Buffer.from(`From: ${FROM}\r\nContent-Type: text/xml\r\n\r\n${XML}`)
    assert.containsSubset(await parse(mail), { kind: 'report', report: { reportId: '1' } })
  })
})
