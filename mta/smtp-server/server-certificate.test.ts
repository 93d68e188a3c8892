import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { systemClock } from '#src/platform/clock.ts'
import { type Certificate, loadSelfSignedCertificate } from './self-signed-certificate.ts'
import { openLog } from '#src/platform/log.ts'
import { until } from '#test/support/until.ts'
import { watchCertificateFiles } from '#src/certificates/certificate-files.ts'
import { loadServerCertificate } from './server-certificate.ts'

describe('the certificate of the SMTP servers', () => {
  let dataDir: string
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'mailstead-certificate-'))
  })
  afterEach(() => rmSync(dataDir, { recursive: true }))
  const load = (tlsCertFile: string | null, tlsKeyFile: string | null): ReturnType<typeof loadServerCertificate> =>
    loadServerCertificate({
      config: { dataDir, serverName: 'mta.example.com', tlsCertFile, tlsKeyFile },
      clock: systemClock,
    })

  it('is created once, for the name of this server, when none is configured', async () => {
    const made = await load(null, null)
    assert.match(new X509Certificate(made.cert).subject, /mta\.example\.com/)
    assert.deepEqual(await load(null, null), made)
  })
  it('is the configured one', async () => {
    const made = await load(null, null)
    writeFileSync(join(dataDir, 'c'), made.cert)
    writeFileSync(join(dataDir, 'k'), made.key)
    assert.deepEqual(await load(join(dataDir, 'c'), join(dataDir, 'k')), made)
  })
  it('is refused when the file holds no certificate', async () => {
    writeFileSync(join(dataDir, 'c'), 'cert')
    await assert.isRejected(
      (async () => load(join(dataDir, 'c'), join(dataDir, 'c')))(),
      /TLS_CERT_FILE and TLS_KEY_FILE cannot be used together/,
    )
  })
  it('is reloaded when it was renewed during the start; an unchanged file causes no reload', async () => {
    const files = { tlsCertFile: join(dataDir, 'c'), tlsKeyFile: join(dataDir, 'k') }
    const write = ({ cert, key }: Certificate): void => {
      writeFileSync(files.tlsCertFile, cert)
      writeFileSync(files.tlsKeyFile, key)
    }
    const [old, renewed] = [
      await load(null, null),
      await loadSelfSignedCertificate(join(dataDir, 'other.json'), 'mta.example.com', Date.now()),
    ]
    write(old)
    const shown = await load(files.tlsCertFile, files.tlsKeyFile)
    write(renewed)
    const reloaded: Certificate[] = []
    const watching = watchCertificateFiles(
      { config: files, log: openLog({ logLevel: 'silent' }, 'test') },
      shown,
      (one) => reloaded.push(one),
    )
    await until(() => reloaded.length > 0)
    write(renewed)
    write(old)
    await until(() => reloaded.length > 1)
    watching.stop()
    assert.deepEqual(reloaded, [renewed, old])
  })
  it('names the setting that is missing or wrong', async () => {
    writeFileSync(join(dataDir, 'c'), 'cert')
    await assert.isRejected((async () => load(join(dataDir, 'c'), null))(), /TLS_KEY_FILE is missing/)
    await assert.isRejected(
      (async () => load(join(dataDir, 'none'), join(dataDir, 'none')))(),
      /TLS_CERT_FILE cannot be read/,
    )
  })
})
