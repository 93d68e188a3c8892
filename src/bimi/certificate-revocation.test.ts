/** Revocation lists on a real HTTP server: good ones, and those that say nothing. */
import { X509Certificate } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { assert } from 'chai'
import { Extension } from '@peculiar/x509'
import ipaddr from 'ipaddr.js'
import { createHttpClient, type HttpClient } from '#src/net/http-client.ts'
import { checkRevocation, MAX_LIST_BYTES, type Revocation } from './certificate-revocation.ts'
import { createMarkAuthority, type MarkAuthority } from './logo.test-data.ts'

const LOOPBACK = { allowPrivateTargets: [ipaddr.parseCIDR('127.0.0.1/32')] }
const NOW = Date.now()
const DAY = 86_400_000
type Answer = (response: ServerResponse) => void

describe('revocation of mark certificates', () => {
  let authority: MarkAuthority
  let other: MarkAuthority
  let http: HttpClient
  let web: Server
  let base: string
  const answers = new Map<string, Answer | Buffer>()
  const requests: string[] = []
  before(async () => {
    web = createServer((request, response) => {
      const path = request.url ?? ''
      requests.push(path)
      const answer = answers.get(path)
      if (typeof answer === 'function') answer(response)
      else response.writeHead(answer === undefined ? 404 : 200).end(answer)
    })
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
    base = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
    http = createHttpClient({ ...LOOPBACK, dnsServers: null, isSandbox: false, extraCaFile: null })
    authority = await createMarkAuthority(NOW, 'Mark Root', `${base}/root`)
    other = await createMarkAuthority(NOW)
    answers.set('/root', await authority.list({ by: 'root' }))
  })
  after(async () => {
    http.close()
    web.closeAllConnections()
    await new Promise((resolve) => web.close(resolve))
  })

  /** The certificate of a mark whose list is at these paths. */
  async function issue(paths: readonly string[], serial?: string): Promise<X509Certificate> {
    const listUrls = paths.map((path) => (path.startsWith('/') ? base + path : path))
    return new X509Certificate(await authority.issue({ listUrls, ...(serial === undefined ? {} : { serial }) }))
  }
  const serialOf = (certificate: X509Certificate): string => certificate.serialNumber.toLowerCase()
  const textOf = (result: Revocation): string =>
    result.state === 'valid'
      ? 'valid'
      : `${result.state}: ${result.state === 'revoked' ? result.at.toISOString().slice(0, 10) : result.problem}`
  async function check(leaf: X509Certificate, nowMs = NOW): Promise<string> {
    return textOf(await checkRevocation({ http, nowMs }, [leaf, authority.intermediate, authority.root]))
  }
  const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

  it('a certificate that its list does not name is valid, and the list is fetched once', async () => {
    const [first, second] = [await issue(['/valid']), await issue(['/valid'])]
    answers.set('/valid', await authority.list({ revoked: [serialOf(await issue(['/valid']))] }))
    assert.strictEqual(await check(first), 'valid')
    assert.strictEqual(await check(second), 'valid')
    assert.lengthOf(
      requests.filter((path) => path === '/valid'),
      1,
    )
    assert.match(await check(first, NOW + 2 * DAY), /^unknown: expired/)
    assert.isAbove(requests.filter((path) => path === '/valid').length, 1)
  })

  for (const serial of ['01', '7fffffffffffffff', '80', 'e801020304050607', '0a00'])
    it(`a certificate that its list names is revoked since then: ${serial}`, async () => {
      const leaf = await issue([`/revoked-${serial}`], serial)
      answers.set(`/revoked-${serial}`, await authority.list({ revoked: ['0102', serial, '00e8'] }))
      assert.strictEqual(await check(leaf), `revoked: ${dateOf(NOW - 2 * DAY)}`)
    })

  it('a revoked issuer revokes its certificates', async () => {
    const revoking = await createMarkAuthority(NOW, 'Revoking Root', `${base}/revoking`)
    answers.set('/revoking', await revoking.list({ by: 'root', revoked: [serialOf(revoking.intermediate)] }))
    answers.set('/revoking-leaf', await revoking.list())
    const mark = new X509Certificate(await revoking.issue({ listUrls: [`${base}/revoking-leaf`] }))
    const result = await checkRevocation({ http, nowMs: NOW }, [mark, revoking.intermediate, revoking.root])
    assert.strictEqual(textOf(result), `revoked: ${dateOf(NOW - 2 * DAY)}`)
  })

  const LISTS: readonly (readonly [what: string, answer: () => Promise<Answer | Buffer>, problem: RegExp])[] = [
    ['expired', () => authority.list({ from: NOW - 9 * DAY, until: NOW - DAY }), /^expired on \d{4}-\d\d-\d\d$/],
    ['not valid yet', () => authority.list({ from: NOW + DAY, until: NOW + 2 * DAY }), /^is not valid yet$/],
    ['of another issuer', () => authority.list({ by: 'root' }), /^is not signed by the issuer/],
    ['of an issuer with the same name', () => other.list(), /^is not signed by the issuer/],
    ['with a changed signature', () => authority.list().then(changeLastByte), /^is not signed by the issuer/],
    ['truncated', () => authority.list().then((list) => list.subarray(0, 60)), /^cannot be read$/],
    ['HTML', () => Promise.resolve(Buffer.from('<html></html>')), /^cannot be read$/],
    ['oversized', () => Promise.resolve(Buffer.alloc(MAX_LIST_BYTES + 1)), /^has more than 1024 KB$/],
    ['missing', () => Promise.resolve((response) => response.writeHead(404).end()), /answered 404/],
    [
      'elsewhere',
      () => Promise.resolve((response) => response.writeHead(302, { location: '/root' }).end()),
      /redirects$/,
    ],
    ['broken off', () => Promise.resolve((response) => response.destroy()), /closed the connection early/],
    ['a delta', () => listWith('2.5.29.27', '020101'), /^covers only some certificates$/],
    ['of some reasons', () => listWith('2.5.29.28', '300483020640'), /^covers only some certificates$/],
    ['indirect', () => listWith('2.5.29.28', '30038401ff'), /^covers only some certificates$/],
    ['of another point', () => listWith('2.5.29.28', '3006a004a0028600'), /^covers only some certificates$/],
    ['with an unknown critical extension', () => listWith('1.2.3.4', '0500'), /^covers only some certificates$/],
  ]
  const listWith = (type: string, value: string): Promise<Buffer> =>
    authority.list({ extensions: [new Extension(type, true, Buffer.from(value, 'hex'))] })
  for (const [what, answer, problem] of LISTS)
    it(`is unknown with a list that is ${what}`, async () => {
      const path = `/${what.replaceAll(' ', '-')}`
      answers.set(path, await answer())
      const result = await check(await issue([path]))
      assert.match(result, /^unknown: /)
      assert.match(result.slice('unknown: '.length), problem)
    })

  it('is unknown without a list, or with one that may not be fetched', async () => {
    assert.match(await check(await issue([])), /^unknown: is not named in the certificate$/)
    assert.match(await check(await issue(['ldap://ca.example/list'])), /^unknown: is not named/)
    assert.match(await check(await issue(['http://10.1.2.3/list'])), /its host was not found, or is not allowed/)
  })

  it('asks the second list when the first says nothing', async () => {
    const leaf = await issue(['/none', '/second'])
    answers.set('/second', await authority.list({ revoked: [serialOf(leaf)] }))
    assert.match(await check(leaf), /^revoked/)
  })

  it('takes a list for the certificates that name its point', async () => {
    const leaf = await issue(['/point'])
    const uri = Buffer.from(`${base}/point`)
    const wrap = (tag: number, content: Buffer): Buffer => Buffer.concat([Buffer.from([tag, content.length]), content])
    const point = wrap(0x30, wrap(0xa0, wrap(0xa0, wrap(0x86, uri))))
    answers.set('/point', await listWith('2.5.29.28', point.toString('hex')))
    assert.strictEqual(await check(leaf), 'valid')
  })
})

function changeLastByte(list: Buffer): Buffer {
  const changed = Buffer.from(list)
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
  return changed
}
