/** DKIM keys in a zone of the operator (decision 071), as the DNS of the sandbox shows them. */
import { assert } from 'chai'
import { createDomainDns, type DomainDns } from '#src/domains/domain-dns.ts'
import { delegatedNames } from '#src/domains/delegated-names.ts'
import type { Domain } from '#src/domains/domains.ts'
import { verifyDomain } from '#src/domains/verify-domain.ts'
import { createDomainTestbed, type DomainTestbed } from '#test/support/domain-testbed.ts'
import { listenDns, type DnsListener } from './dns-listener.ts'
import { createZone } from './dns-zone.ts'

const ZONE = 'keys.operator.example'

describe('delegated DKIM keys in the sandbox', () => {
  let testbed: DomainTestbed
  let listener: DnsListener
  let dns: DomainDns
  let domain: Domain
  before(async () => {
    testbed = await createDomainTestbed({ DKIM_ZONE: ZONE })
    listener = await listenDns(0, createZone(testbed.ctx.db))
    dns = createDomainDns({ dnsServers: [`127.0.0.1:${listener.port}`] })
    domain = await testbed.add(await testbed.ctx.newWorkspace())
    assert.strictEqual(domain.dkimZone, ZONE)
  })
  after(async () => {
    await listener.stop()
    await testbed.close()
  })

  const names = () =>
    delegatedNames({ id: domain.id, dkimZone: ZONE }).map((one) => ({
      ...one,
      name: `${one.selector}._domainkey.${domain.domain}`,
      key: domain.keys.find(({ selector }) => selector === one.selector),
    }))

  it('are four CNAME records, and the keys at their targets', async () => {
    const signing = names().filter(({ key }) => key !== undefined)
    assert.lengthOf(signing, 2)
    for (const { name, target, key } of names()) {
      assert.deepEqual(await dns.cname(name), { kind: 'answered', records: [target] })
      const texts = { kind: 'answered', records: key === undefined ? [] : [key.dnsValue] }
      assert.deepEqual(await dns.txt(name), texts, name)
      assert.deepEqual(await dns.txt(target), texts, target)
    }
  })

  it('verify the domain', async () => {
    await verifyDomain(testbed.ctx, dns, domain)
    assert.strictEqual((await testbed.read(domain)).status, 'verified')
  })

  it('are not there for other selectors, domains and zones', async () => {
    const [first] = names()
    const selector = first?.selector ?? ''
    const none = { kind: 'answered', records: [] }
    for (const name of [`x._domainkey.${domain.domain}`, `${selector}._domainkey.other.example`])
      assert.deepEqual([await dns.cname(name), await dns.txt(name)], [none, none], name)
    assert.deepEqual(await dns.txt(`a.0123456789abcdef.${ZONE}`), none)
  })
})
