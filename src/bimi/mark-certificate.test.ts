import { assert } from 'chai'
import type { X509Certificate } from 'node:crypto'
import { createMarkAuthority, svgOf, type MarkFields } from './logo.test-data.ts'
import { validateMarkCertificate } from './mark-certificate.ts'

const NOW = Date.UTC(2031, 5, 1)
const DAY = 86_400_000

describe('mark certificates', () => {
  let authority: Awaited<ReturnType<typeof createMarkAuthority>>
  before(async () => {
    authority = await createMarkAuthority(NOW)
  })

  async function validate(pem: string, logo: string | null = svgOf(), roots?: X509Certificate[]): Promise<string> {
    const check = { pem: Buffer.from(pem), domain: 'shop.example', selector: 'default', nowMs: NOW }
    const bytes = logo === null ? null : Buffer.from(logo)
    const result = await validateMarkCertificate({ ...check, logo: bytes }, roots ?? [authority.root])
    return result.ok ? `${result.kind} until ${result.validUntil.toISOString().slice(0, 10)}` : result.problem
  }

  const CASES: readonly (readonly [what: string, fields: MarkFields, result: RegExp])[] = [
    ['of the domain', {}, /^VMC until 2032-05-31$/],
    ['of the organisation, for a subdomain', { names: ['news.shop.example'] }, /^VMC/],
    ['of the selector', { names: ['default._bimi.shop.example'] }, /^VMC/],
    ['of another domain', { names: ['other.example'] }, /another domain/],
    ['that has expired', { until: NOW - DAY }, /expired/],
    ['that is not valid yet', { from: NOW + DAY }, /not valid yet/],
    ['for web servers', { usage: '1.3.6.1.5.5.7.3.1' }, /lacks the key usage/],
    ['without a logo', { svg: null }, /contains no logo/],
    ['with another logo than its hash', { hashed: 'x' }, /does not match its hash/],
    ['with a logo of another type', { mediaType: 'image/png' }, /not SVG/],
    ['with a logo that is not Tiny PS', { svg: '<svg><title>x</title></svg>' }, /not SVG Tiny PS/],
    ['with another logo than that of the record', { svg: svgOf('<path d="M1 1z"/>') }, /another logo/],
  ]
  for (const [what, fields, result] of CASES)
    it(`${what}: ${String(result)}`, async () => assert.match(await validate(await authority.issue(fields)), result))

  it('without the logo of the record is judged by the rest', async () =>
    assert.match(await validate(await authority.issue(), null), /^VMC/))

  it('of an unknown authority is refused', async () => {
    const other = await createMarkAuthority(NOW, 'Other Root')
    assert.match(await validate(await other.issue()), /not signed by an authority/)
  })

  it('whose authority only has the name of a known one is refused: the signature counts', async () => {
    const forged = await createMarkAuthority(NOW)
    assert.match(await validate(await forged.issue()), /not signed by an authority/)
  })

  it('without its intermediate is refused', async () => {
    const [leaf = ''] = (await authority.issue()).match(/-----BEGIN[\s\S]+?-----END CERTIFICATE-----/) ?? []
    assert.match(await validate(leaf), /chain is incomplete/)
  })

  const BROKEN: readonly (readonly [what: string, pem: string])[] = [
    ['nothing', ''],
    ['HTML', '<html></html>'],
    ['a broken certificate', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'],
    ['a private key', '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n'],
  ]
  for (const [what, pem] of BROKEN)
    it(`${what} is refused`, async () => assert.match(await validate(pem), /not a list of certificates/))

  it('a thousand certificates are refused unread', async () => {
    const pem = await authority.issue()
    assert.match(await validate(pem.repeat(500)), /not a list of certificates/)
  })

  it('the authorities of the BIMI group are the default', async () => {
    const check = { pem: Buffer.from(await authority.issue()), domain: 'shop.example', selector: 'default', nowMs: NOW }
    assert.isFalse((await validateMarkCertificate({ ...check, logo: null })).ok)
  })
})
