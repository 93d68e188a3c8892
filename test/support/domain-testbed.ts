/**
 * Sending domains on real stores, with a real DNS server and a clock that tests can move. The operator's records are
 * in DNS from the start; `publish` adds the records of a domain, as its owner would.
 */
import { assert } from 'chai'
import { createDomainDns, type DomainDns } from '#src/domains/domain-dns.ts'
import { addDomain, findDomain, type Domain } from '#src/domains/domains.ts'
import { domainRecords, serviceHostsOf, returnPathRecords, type DnsRecord } from '#src/domains/records.ts'
import { verifyDomain, type Verification } from '#src/domains/verify-domain.ts'
import { createContext, type TestContext } from './context.ts'
import { startDns, type TestDns, type Zone } from './dns.ts'

export interface DomainTestbed {
  readonly ctx: TestContext
  readonly dns: TestDns
  readonly resolver: DomainDns
  /** A new domain of a workspace, under a name of its own. */
  add(workspaceId: string, name?: string): Promise<Domain>
  /** Adds the records of a domain to DNS; all of them, or those that `pick` selects. */
  publish(domain: Domain, pick?: (record: DnsRecord) => boolean): void
  /** Takes everything of a domain out of DNS. */
  unpublish(domain: Domain): void
  /** Looks at DNS now. */
  verify(domain: Domain): Promise<Verification>
  /** As it is stored. */
  read(domain: Domain): Promise<Domain>
  close(): Promise<void>
}

const HOST = 'mail.operator.example'

export async function createDomainTestbed(env: Record<string, string> = {}): Promise<DomainTestbed> {
  const dns = await startDns({ [HOST]: { A: ['192.0.2.1'] } })
  const ctx = await createContext({
    DNS_SERVERS: dns.server,
    MAILSTEAD_HOSTNAME: HOST,
    PUBLIC_URL: `https://${HOST}`,
    ...env,
  })
  const hosts = serviceHostsOf(ctx.config)
  const resolver = createDomainDns(ctx.config)
  let names = 0
  addRecords(dns.zone, returnPathRecords(hosts))
  const read = async ({ workspaceId, id }: Domain): Promise<Domain> =>
    (await findDomain(ctx.db, workspaceId, id)) ?? assert.fail('the domain is gone')
  return {
    ctx,
    dns,
    resolver,
    read,
    add: async (workspaceId, name = `d${names++}.example`) => {
      const added = await addDomain(ctx, { workspaceId, name })
      return added.kind === 'added' ? added.domain : assert.fail(added.kind)
    },
    publish: (domain, pick = () => true) => addRecords(dns.zone, domainRecords(domain, hosts).filter(pick)),
    unpublish: (domain) => {
      for (const name of Object.keys(dns.zone))
        if (name === domain.domain || name.endsWith(`.${domain.domain}`)) delete dns.zone[name]
    },
    verify: async (domain) => verifyDomain(ctx, resolver, await read(domain)),
    close: async () => {
      await ctx.close()
      await dns.stop()
    },
  }
}

function addRecords(zone: Zone, records: readonly DnsRecord[]): void {
  for (const { type, name, value, priority } of records) {
    const data =
      type === 'TXT' ? { TXT: [value] } : type === 'MX' ? { MX: [[priority ?? 10, value] as const] } : { CNAME: value }
    zone[name] = { ...zone[name], ...data }
  }
}
