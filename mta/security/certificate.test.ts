/** Certificates that a server presents in real handshakes. */
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:tls'
import { assert } from 'chai'
import type { TlsaRecord } from '#src/net/dns-answer.ts'
import { createAuthority, type Authority, type Certificate } from '#test/support/certificate.ts'
import { isUsable, verifyByAuthorities, verifyByTlsa, strongestOf, type TlsPeer } from './certificate.ts'

const HOST = 'mx.test'
const NOW = Date.now()

/** What a client sees that trusts `ca`. */
async function shake(shown: Certificate, ca?: string): Promise<TlsPeer & { destroy(): void }> {
  const server = createServer(shown, (socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    servername: HOST,
    rejectUnauthorized: false,
    ...(ca !== undefined && { ca }),
  })
  await once(socket, 'secureConnect')
  server.close()
  return socket
}

function record(usage: number, selector: number, matchingType: number, pem: string): TlsaRecord {
  const certificate = new X509Certificate(pem)
  const bytes = selector === 0 ? certificate.raw : certificate.publicKey.export({ type: 'spki', format: 'der' })
  return {
    usage,
    selector,
    matchingType,
    certificate:
      matchingType === 0
        ? bytes
        : createHash(matchingType === 1 ? 'sha256' : 'sha512')
            .update(bytes)
            .digest(),
  }
}

describe('certificates', () => {
  let authority: Authority
  let good: Certificate
  const open: { destroy(): void }[] = []
  before(async () => {
    authority = await createAuthority()
    good = await authority.issue([HOST])
  })
  after(() => open.forEach((socket) => socket.destroy()))
  const see = async (shown: Certificate, ca?: string): Promise<TlsPeer> => {
    const peer = await shake(shown, ca)
    open.push(peer)
    return peer
  }

  describe('verified by certificate authorities', () => {
    const codeOf = async (shown: Certificate, ca?: string): Promise<string | undefined> =>
      verifyByAuthorities(await see(shown, ca), HOST)?.code
    it('accepts a trusted certificate for the host', async () =>
      assert.strictEqual(await codeOf(good, authority.cert), undefined))
    it('refuses an expired one', async () =>
      assert.strictEqual(
        await codeOf(await authority.issue([HOST], { isExpired: true }), authority.cert),
        'certificate-expired',
      ))
    it('refuses one for another host', async () =>
      assert.strictEqual(
        await codeOf(await authority.issue(['other.test']), authority.cert),
        'certificate-host-mismatch',
      ))
    it('refuses one of an unknown authority', async () =>
      assert.strictEqual(await codeOf(good), 'certificate-not-trusted'))
  })

  describe('verified by TLSA records', () => {
    const verify = async (
      shown: Certificate,
      records: readonly TlsaRecord[],
      names = [HOST],
    ): Promise<string | undefined> => verifyByTlsa(await see(shown), records, names, NOW)?.code
    const leaf = (): string => good.cert
    for (const selector of [0, 1]) {
      for (const matching of [0, 1, 2]) {
        it(`3 ${selector} ${matching}`, async () =>
          assert.strictEqual(await verify(good, [record(3, selector, matching, leaf())]), undefined))
        it(`2 ${selector} ${matching}`, async () =>
          assert.strictEqual(await verify(good, [record(2, selector, matching, authority.cert)]), undefined))
      }
    }
    it('usage 3 checks neither name nor date', async () => {
      const old = await authority.issue(['other.test'], { isExpired: true })
      assert.strictEqual(await verify(old, [record(3, 1, 1, old.cert)]), undefined)
    })
    it('usage 2 checks the date', async () => {
      assert.strictEqual(
        await verify(await authority.issue([HOST], { isExpired: true }), [record(2, 1, 1, authority.cert)]),
        'certificate-expired',
      )
    })
    it('usage 2 checks that one of the names matches', async () => {
      const other = await authority.issue(['other.test'])
      assert.strictEqual(await verify(other, [record(2, 1, 1, authority.cert)]), 'certificate-host-mismatch')
      assert.strictEqual(await verify(other, [record(2, 1, 1, authority.cert)], [HOST, 'other.test']), undefined)
    })
    it('usage 2 refuses a certificate that its anchor did not sign', async () => {
      const outsider = await (await createAuthority()).issue([HOST])
      const [own = ''] = outsider.cert.split(/(?<=-----END CERTIFICATE-----\n?)(?=\s*-----BEGIN)/)
      assert.notStrictEqual(
        await verify({ key: outsider.key, cert: `${own}\n${authority.cert}` }, [record(2, 1, 1, authority.cert)]),
        undefined,
      )
    })
    it('usage 2 does not match the certificate of the server itself', async () =>
      assert.strictEqual(await verify(good, [record(2, 1, 1, leaf())]), 'validation-failure'))
    it('refuses a certificate that no record matches', async () => {
      const other = await authority.issue([HOST])
      assert.strictEqual(await verify(other, [record(3, 1, 1, leaf()), record(3, 0, 2, leaf())]), 'validation-failure')
    })
    it('accepts a certificate that one of several records matches', async () => {
      const next = await authority.issue([HOST])
      assert.strictEqual(await verify(good, [record(3, 1, 1, next.cert), record(3, 1, 1, leaf())]), undefined)
    })

    describe('digest agility', () => {
      // usage, selector, matching type of each
      const SETS: readonly (readonly [records: string[], counting: string[]])[] = [
        [['311', '312'], ['312']],
        [
          ['312', '311', '310'],
          ['312', '310'],
        ],
        [
          ['311', '302'],
          ['311', '302'],
        ],
        [
          ['311', '212'],
          ['311', '212'],
        ],
        [
          ['311', '311'],
          ['311', '311'],
        ],
        [
          ['311', '312', '211', '311', '212'],
          ['312', '212'],
        ],
        [['310'], ['310']],
        [[], []],
      ]
      for (const [records, counting] of SETS) {
        it(`${records.join(', ') || 'none'}: ${counting.join(', ') || 'none'}`, () => {
          const all = records.map((name): TlsaRecord => {
            const [usage = 0, selector = 0, matchingType = 0] = Array.from(name, Number)
            return { usage, selector, matchingType, certificate: Buffer.alloc(1) }
          })
          const left = strongestOf(all).map(({ usage, selector, matchingType }) => `${usage}${selector}${matchingType}`)
          assert.deepEqual(left, counting)
        })
      }
      it('a matching weak digest does not count beside a strong one that does not match', async () => {
        const other = await authority.issue([HOST])
        const records = [record(3, 1, 1, leaf()), record(3, 1, 2, other.cert)]
        assert.strictEqual(await verify(good, strongestOf(records)), 'validation-failure')
        assert.strictEqual(await verify(good, strongestOf([...records, record(3, 1, 2, leaf())])), undefined)
      })
      it('accepts the old and the new key during a rotation', async () => {
        const next = await (await createAuthority()).issue([HOST])
        const roll = [record(3, 1, 1, good.cert), record(3, 1, 1, next.cert)]
        assert.deepEqual(
          [await verify(good, strongestOf(roll)), await verify(next, strongestOf(roll))],
          [undefined, undefined],
        )
        assert.strictEqual(
          await verify(good, strongestOf([record(3, 1, 1, next.cert), record(2, 1, 1, authority.cert)])),
          undefined,
        )
      })
    })

    const unusable = (change: Partial<TlsaRecord>): boolean => isUsable({ ...record(3, 1, 1, leaf()), ...change })
    it('tells usable records from unusable ones', () => {
      assert.ok(unusable({}))
      assert.ok(unusable({ usage: 2 }))
      assert.deepEqual(
        [0, 1, 4, 255].filter((usage) => unusable({ usage })),
        [],
      )
      assert.deepEqual(
        [2, 255].filter((selector) => unusable({ selector })),
        [],
      )
      assert.deepEqual(
        [0, 1, 2, 3].filter((matchingType) => unusable({ matchingType, certificate: Buffer.alloc(0) })),
        [],
      )
      assert.ok(!unusable({ certificate: Buffer.alloc(31) }))
    })
  })
})
