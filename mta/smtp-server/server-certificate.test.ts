import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from 'chai'
import { systemClock } from '#src/platform/clock.ts'
import { type Certificate, loadSelfSignedCertificate } from './self-signed-certificate.ts'
import { openLog } from '#src/platform/log.ts'
import { until } from '#test/support/until.ts'
import { loadServerCertificate, watchServerCertificate } from './server-certificate.ts'

describe('the certificate of our servers', () => {
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

  it('is made once, in the name of this server, when none is given', async () => {
    const made = await load(null, null)
    assert.match(new X509Certificate(made.cert).subject, /mta\.example\.com/)
    assert.deepEqual(await load(null, null), made)
  })
  it('is the one that is given', async () => {
    const made = await load(null, null)
    writeFileSync(join(dataDir, 'c'), made.cert)
    writeFileSync(join(dataDir, 'k'), made.key)
    assert.deepEqual(await load(join(dataDir, 'c'), join(dataDir, 'k')), made)
  })
  it('is refused where it is none', async () => {
    writeFileSync(join(dataDir, 'c'), 'cert')
    await assert.isRejected(
      (async () => load(join(dataDir, 'c'), join(dataDir, 'c')))(),
      /TLS_CERT_FILE and TLS_KEY_FILE cannot be used together/,
    )
  })
  it('is taken when it was renewed while the server began; the same one written again is no news', async () => {
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
    const taken: Certificate[] = []
    const config = { dataDir, serverName: 'mta.example.com', ...files }
    const watching = watchServerCertificate(
      { config, clock: systemClock, log: openLog({ logLevel: 'silent' }, 'test') },
      shown,
      (one) => taken.push(one),
    )
    await until(() => taken.length > 0)
    write(renewed)
    write(old)
    await until(() => taken.length > 1)
    watching.stop()
    assert.deepEqual(taken, [renewed, old])
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
