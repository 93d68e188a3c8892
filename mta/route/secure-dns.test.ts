import { assert } from 'chai'
import { startDns, type TestDns, type Zone } from '#test/support/dns.ts'
import { parseServer } from './dns-exchange.ts'
import { openDnsServers } from './dns-servers.ts'
import { openSecureDns, type SecureDns } from './secure-dns.ts'

const TLSA = [{ usage: 3, selector: 1, matchingType: 1, certificate: Buffer.alloc(32, 7) }]
const ZONE: Zone = {
  'signed.example': { MX: [[10, 'MX.signed.example']], isSecure: true },
  'mx.signed.example': { A: ['192.0.2.1'], isSecure: true },
  'six.signed.example': { AAAA: ['2001:db8::1'], isSecure: true },
  'alias.signed.example': { CNAME: 'mx.signed.example', isSecure: true },
  'astray.signed.example': { CNAME: 'mx.plain.example', isSecure: true },
  '_25._tcp.mx.signed.example': { TLSA, isSecure: true },
  '_25._tcp.many.signed.example': { TLSA: Array.from({ length: 60 }, () => TLSA[0] ?? assert.fail()), isSecure: true },
  'plain.example': { MX: [[10, 'mx.plain.example']] },
  'mx.plain.example': { A: ['192.0.2.1'] },
  'bogus.example': { MX: [[10, 'mx.plain.example']], isSecure: true, fault: 'servfail' },
}

describe('DNS with a validating resolver', () => {
  let dns: TestDns
  const ask = (servers = [dns.server]): SecureDns => openSecureDns(openDnsServers(servers, 150))
  before(async () => {
    dns = await startDns(ZONE)
  })
  after(() => dns.stop())

  it('reports for answers and denials whether they are secure', async () => {
    assert.deepEqual(await ask().mx('signed.example'), {
      kind: 'found',
      records: ['mx.signed.example'],
      isSecure: true,
      ttlSeconds: 300,
    })
    assert.deepInclude(await ask().mx('plain.example'), { kind: 'found', isSecure: false })
    assert.deepEqual(await ask().tlsa('_25._tcp.six.signed.example'), {
      kind: 'nothing',
      isName: false,
      isSecure: true,
    })
    assert.deepEqual(await ask().tlsa('mx.signed.example'), { kind: 'nothing', isName: true, isSecure: true })
    assert.deepEqual(await ask().tlsa('_25._tcp.mx.plain.example'), { kind: 'nothing', isName: false, isSecure: false })
  })

  it('finds TLSA records', async () => {
    assert.deepEqual(await ask().tlsa('_25._tcp.mx.signed.example'), {
      kind: 'found',
      records: TLSA,
      isSecure: true,
      ttlSeconds: 300,
    })
  })

  it("finds the owner name of a host's addresses: IPv4, IPv6, and behind an alias", async () => {
    assert.deepInclude(await ask().owner('mx.signed.example'), {
      records: ['mx.signed.example'],
      isSecure: true,
    })
    assert.deepInclude(await ask().owner('six.signed.example'), {
      records: ['six.signed.example'],
      isSecure: true,
    })
    assert.deepInclude(await ask().owner('alias.signed.example'), {
      records: ['mx.signed.example'],
      isSecure: true,
    })
    assert.deepInclude(await ask().owner('astray.signed.example'), {
      records: ['mx.plain.example'],
      isSecure: false,
    })
  })

  it('repeats a query over TCP when the answer was truncated', async () => {
    const found = await ask().tlsa('_25._tcp.many.signed.example')
    assert.strictEqual(found.kind === 'found' && found.records.length, 60)
    assert.deepEqual(
      dns.queries.slice(-2).map(({ via }) => via),
      ['udp', 'tcp'],
    )
  })

  it('a bogus answer, which arrives as SERVFAIL, is a failure', async () => {
    assert.deepEqual(await ask().mx('bogus.example'), { kind: 'failed', text: 'SERVFAIL' })
  })

  for (const [fault, text] of [
    ['silence', 'no answer in time'],
    ['wrong-id', 'no answer in time'],
    ['wrong-question', 'no answer in time'],
    ['refused', 'REFUSED'],
  ] as const) {
    it(`${fault} is a failure, never an answer`, async () => {
      const bad = await startDns({
        'signed.example': { MX: [[10, 'mx.evil.example']], isSecure: true, fault },
      })
      assert.deepEqual(await ask([bad.server]).mx('signed.example'), { kind: 'failed', text })
      assert.strictEqual(bad.queries.length, 2)
      await bad.stop()
    })
  }

  it('queries the next server when one is unreachable', async () => {
    const gone = await startDns({})
    await gone.stop()
    assert.strictEqual((await ask([gone.server, dns.server]).mx('signed.example')).kind, 'found')
    assert.strictEqual((await ask([gone.server]).mx('signed.example')).kind, 'failed')
  })
  for (const [text, host, port] of [
    ['9.9.9.9', '9.9.9.9', 53],
    ['127.0.0.1:5353', '127.0.0.1', 5353],
    ['[::1]:54', '::1', 54],
    ['::1', '::1', 53],
  ] as const)
    it(`reads ${text}`, () => assert.deepEqual(parseServer(text), { host, port }))
})
