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

  it('is created once, for its host name, and only its owner can read it', async () => {
    const first = await loadSelfSignedCertificate(join(dir, 'sandbox-tls.json'), 'mx.mailstead.test', Date.now())
    assert.deepEqual(
      await loadSelfSignedCertificate(join(dir, 'sandbox-tls.json'), 'mx.mailstead.test', Date.now()),
      first,
    )
    const { subject, subjectAltName } = new X509Certificate(first.cert)
    assert.match(subject, /mx\.mailstead\.test/)
    assert.strictEqual(subjectAltName, 'DNS:mx.mailstead.test')
    assert.strictEqual(statSync(join(dir, 'sandbox-tls.json')).mode & 0o777, 0o600)
  })
  it('has a P-256 key that is for signatures only', async () => {
    const { cert } = await loadSelfSignedCertificate(join(dir, 'sandbox-tls.json'), 'mx.mailstead.test', Date.now())
    const { publicKey, raw } = new X509Certificate(cert)
    assert.strictEqual(publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
    // the extension keyUsage, critical: only the first bit, digitalSignature, is set
    assert.include(raw.toString('hex'), '0603551d0f0101ff040403020780')
  })
  for (const [what, text] of [
    ['rubbish', '{'],
    ['another form', '{"key":1}'],
    ['nothing', ''],
  ] as const) {
    it(`is created again when the stored file is ${what}`, async () => {
      writeFileSync(join(dir, 'sandbox-tls.json'), text)
      assert.ok(
        new X509Certificate(
          (await loadSelfSignedCertificate(join(dir, 'sandbox-tls.json'), 'mx.test', Date.now())).cert,
        ),
      )
    })
  }
  it('is created again when its key is damaged or belongs to another certificate', async () => {
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
  it('is created again before it expires', async () => {
    const first = await loadSelfSignedCertificate(
      join(dir, 'sandbox-tls.json'),
      'mx.test',
      Date.now() - 11 * 365 * 24 * 3600_000,
    )
    assert.notDeepEqual(await loadSelfSignedCertificate(join(dir, 'sandbox-tls.json'), 'mx.test', Date.now()), first)
  })
  it('is created even when it cannot be stored', async () => {
    assert.ok((await loadSelfSignedCertificate(join(dir, 'missing', 'tls.json'), 'mx.test', Date.now())).cert)
  })
})
