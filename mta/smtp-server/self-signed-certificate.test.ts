import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { assert } from 'chai'
import { loadSelfSignedCertificate } from './self-signed-certificate.ts'

describe('the certificate of the sandbox', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mailstead-certificate-'))
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  it('is made once, for its name, and kept from others', async () => {
    const first = await loadSelfSignedCertificate(join(dir, 'sandbox-tls.json'), 'mx.mailstead.test', Date.now())
    assert.deepEqual(
      await loadSelfSignedCertificate(join(dir, 'sandbox-tls.json'), 'mx.mailstead.test', Date.now()),
      first,
    )
    assert.match(new X509Certificate(first.cert).subject, /mx\.mailstead\.test/)
    assert.strictEqual(statSync(join(dir, 'sandbox-tls.json')).mode & 0o777, 0o600)
  })
  for (const [what, text] of [
    ['rubbish', '{'],
    ['another form', '{"key":1}'],
    ['nothing', ''],
  ] as const) {
    it(`is made anew where ${what} is kept`, async () => {
      writeFileSync(join(dir, 'sandbox-tls.json'), text)
      assert.ok(
        new X509Certificate(
          (await loadSelfSignedCertificate(join(dir, 'sandbox-tls.json'), 'mx.test', Date.now())).cert,
        ),
      )
    })
  }
  it("is made anew where its key was damaged, or is another's", async () => {
    const file = join(dir, 'sandbox-tls.json')
    const [first, other] = [
      await loadSelfSignedCertificate(file, 'mx.test', Date.now()),
      await loadSelfSignedCertificate(join(dir, 'other.json'), 'mx.test', Date.now()),
    ]
    for (const key of [first.key.replace(/[A-Za-z0-9+/]{8}\n/, 'AAAAAAAA\n'), other.key]) {
      writeFileSync(file, JSON.stringify({ ...first, key }))
      assert.ok(createSecureContext(await loadSelfSignedCertificate(file, 'mx.test', Date.now())))
    }
  })
  it('is made anew before it ends', async () => {
    const first = await loadSelfSignedCertificate(
      join(dir, 'sandbox-tls.json'),
      'mx.test',
      Date.now() - 11 * 365 * 24 * 3600_000,
    )
    assert.notDeepEqual(await loadSelfSignedCertificate(join(dir, 'sandbox-tls.json'), 'mx.test', Date.now()), first)
  })
  it('is made where it cannot be kept', async () => {
    assert.ok((await loadSelfSignedCertificate(join(dir, 'missing', 'tls.json'), 'mx.test', Date.now())).cert)
  })
})
